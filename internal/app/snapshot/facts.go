package snapshot

import (
	"cmp"
	"context"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/hookmark"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// busFacts are what agents say of themselves on a bus.
type busFacts struct {
	blocked  map[address.Instance]string   // by what
	reserved map[address.Instance][]string // paths
	conducts map[address.Instance]bool     // a workspace in which it works
}

// factsOf reads them. An error says what is missing; the rest is there.
func factsOf(ctx context.Context, w *app.World, agents []members.Row, now time.Time) (f busFacts, problems []error) {
	f = busFacts{map[address.Instance]string{}, map[address.Instance][]string{}, map[address.Instance]bool{}}
	blocked, _, err := blocker.List(ctx, w.Store, blocker.Filter{Active: true})
	if err != nil {
		problems = append(problems, err)
	}
	for _, b := range blocked {
		f.blocked[b.Instance.Canonical()] = b.Reason
	}
	leases, err := w.Leases().Standing(ctx, now)
	if err != nil {
		problems = append(problems, err)
	}
	for _, l := range leases {
		who := l.Holder.Canonical()
		f.reserved[who] = append(f.reserved[who], l.Path)
	}
	if err := f.conductors(ctx, w, agents, now); err != nil {
		problems = append(problems, err)
	}
	return f, problems
}

// maxWorkspaces is of how many folders the conductor is looked for.
const maxWorkspaces = 50

// conductors finds who conducts the folders in which agents of this machine work, where an agent has ever claimed that role.
func (f *busFacts) conductors(ctx context.Context, w *app.World, agents []members.Row, now time.Time) error {
	if !claimsIn(w.Root.Path) {
		return nil
	}
	place, seen := w.App.Workplace(), map[string]bool{}
	for i := range agents {
		dir := overview.FolderOf(&agents[i])
		if agents[i].Session == nil || agents[i].Session.MirroredAt != "" || dir == "" || seen[dir] || len(seen) == maxWorkspaces {
			continue
		}
		seen[dir] = true
		r, err := full.Conductor(w).Resolve(ctx, full.Folder(identity.Workplace{Path: dir, Machine: place.Machine}), now)
		if err != nil {
			return err
		}
		if r.Conductor != "" {
			f.conducts[r.Conductor.Canonical()] = true
		}
	}
	return nil
}

// report takes over what the program of an agent that was started by hand writes of itself.
func (r *Agent) report(home string) {
	d, ok := driver.Kind(cmp.Or(r.Instance.Host(), r.CLI))
	if r.Tmux != nil || !ok || r.Program.PID == 0 {
		return
	}
	said, ok := observe.ReadSelfReport(&d.Life, siteOf(home, r.Folder, r.Program.PID), r.Program)
	if word := observe.Word(said.Doing); ok && word != "" {
		r.Doing, r.Since, r.Asks = word, said.Since, ""
		if said.Doing == driver.Asking {
			r.Doing, r.Asks = observe.StateWaiting, cmp.Or(said.Asks, "something")
		}
		r.WaitsFor, r.Version = observe.WaitsFor(r.Doing, said.Asks), said.Version
	}
}

// siteOf is where an agent CLI that runs keeps its files.
func siteOf(home, dir string, pid int) driver.Site {
	return driver.Site{Home: home, Dir: dir, Env: func(name string) string {
		if pid == 0 {
			return ""
		}
		value, _, _ := proc.Getenv(pid, name)
		return value
	}}
}

// learn adds to each row what the records of its agent CLI, of git and of the buses say.
func (v *View) learn(a *app.App, home string) {
	var marks []hookmark.Mark
	if state, err := a.StateDir(); err == nil {
		marks, _ = hookmark.All(state) // without them the size of some contexts is not known
	}
	branches := map[string]string{}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Mirrored {
			continue
		}
		if _, known := branches[r.Folder]; !known {
			branches[r.Folder] = overview.Branch(r.Folder)
		}
		r.Branch = branches[r.Folder]
		used := r.usage(home, marks)
		r.Tokens, r.Model = used.Tokens, used.Model
		for n := range v.Buses {
			f := &v.Buses[n].facts
			if r.Instance != "" {
				r.Conductor = r.Conductor || f.conducts[r.Instance]
				r.Blocked = cmp.Or(r.Blocked, f.blocked[r.Instance])
				r.Reserved = append(r.Reserved, f.reserved[r.Instance]...)
			}
		}
	}
}

// usage is what the model of an agent used last, the zero value where that is not known.
func (r *Agent) usage(home string, marks []hookmark.Mark) (u driver.Usage) {
	d, ok := driver.Kind(cmp.Or(r.Instance.Host(), r.CLI))
	if !ok {
		return u
	}
	talk, dir, pid := "", r.Folder, r.Program.PID
	if r.Tmux != nil {
		talk = r.Tmux.Row.Conversation()
	}
	for i := range marks {
		m := &marks[i]
		if m.CLI == d.Name && (m.ID() == r.Program || talk != "" && m.Conversation == talk ||
			talk == "" && r.Instance != "" && address.Instance(m.Instance).Canonical() == r.Instance) {
			talk, dir, pid = cmp.Or(m.Conversation, talk), cmp.Or(m.Dir, dir), m.PID
			break
		}
	}
	if talk == "" {
		return u
	}
	u, _ = observe.Usage(d, siteOf(home, dir, pid), talk)
	return u
}
