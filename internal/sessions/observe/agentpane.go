package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
)

// An Inhabitant says which agent is looked for in panes.
type Inhabitant struct {
	Kind string // of program, as in addresses
	Pane string // the recorded id of its pane; "" finds nothing
	// Session is the name of its session of tmux, "" if unknown. Kept is its session on the bus; nil: there is none that
	// counts.
	Session string
	Kept    *presence.Session
	PID     int       // a process of it, or of its server; 0 if unknown
	By      time.Time // its program was there by then; of one with a session on the bus, when that began
}

// A Resident is an agent in its pane.
type Resident struct {
	Server  tmux.Server
	Pane    tmux.Pane
	Process proc.ID // of the program, or of the one in front of which it is
	Driver  *driver.Driver
}

// Inhabitants finds the panes in which an agent lives: the pane has that id, and below its first process runs a program of that
// kind which was there by then. The id alone says nothing, because every server of tmux counts from the beginning; so there can
// be more than one, and then it is unknown which. Without an error a result without any means that there is none.
func Inhabitants(ctx context.Context, servers []tmux.Server, q Inhabitant) (all []Resident, err error) {
	d, ok := driver.Kind(q.Kind)
	if !ok || q.Pane == "" {
		return nil, nil
	}
	var processes []proc.Process
	for _, s := range servers {
		snap, err := s.Panes(ctx)
		if errors.Is(err, tmux.ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		pane, ok := snap.Find(q.Pane)
		if !ok || pane.Dead || q.Session != "" && pane.SessionName != q.Session {
			continue
		}
		if processes == nil {
			if processes, err = proc.List(); err != nil {
				return nil, err
			}
		}
		if id, ok := q.in(d, pane, processes); ok {
			all = append(all, Resident{s, pane, id, d})
		}
	}
	return all, nil
}

// in returns the program of the agent in a pane.
func (q *Inhabitant) in(d *driver.Driver, pane tmux.Pane, all []proc.Process) (proc.ID, bool) {
	const rounding = time.Second
	root, err := proc.Of(pane.PID)
	if err != nil {
		return proc.ID{}, false
	}
	by := q.By
	if q.Kept != nil {
		began, ok := envelope.ParseTime(q.Kept.StartedAt)
		if !ok {
			return proc.ID{}, false
		}
		by = began
		if !LivesIn(q.Kept, pane, all) {
			return proc.ID{}, false
		}
	}
	tree := proc.Tree(all, root)
	i := slices.IndexFunc(tree, func(p proc.Process) bool {
		return Runs(d, p) && before(p.PID, by.Add(rounding)) && p.Alive()
	})
	if i < 0 {
		return proc.ID{}, false
	}
	return tree[i].ID, true
}

// Runs tells whether a process is the program of a driver: by its name, or by the script that it runs, because node names its process as
// it likes.
func Runs(d *driver.Driver, p proc.Process) bool {
	if slices.Contains(d.Life.Comms, p.Comm) {
		return true
	}
	argv, err := proc.Cmdline(p.PID)
	if err != nil || len(argv) == 0 {
		return false
	}
	return identity.Process{ID: p.ID, Comm: p.Comm, Args: argv}.Agent() == d.Name
}

// keepable reports whether a session can be kept at all by a process that sees its pane on this machine.
func InLocalPane(s *presence.Session) bool {
	if s.Launch == nil || s.Launch.Tmux == nil || s.Launch.Tmux.Pane == "" || s.MirroredAt != "" {
		return false
	}
	if s.State == presence.Closed || s.State == presence.StateExpired {
		return false
	}
	return OnThisMachine(s)
}

// OnThisMachine tells whether a session can be one of this machine. The host of its workspace is the agent CLI, as in addresses, and in
// records of some programs the machine.
func OnThisMachine(s *presence.Session) bool {
	if s.Workspace == nil {
		return true
	}
	switch s.Workspace.Host {
	case "", s.Host, s.Instance.Canonical().Host(), proc.Hostname():
		return true
	}
	return false
}

// livesIn tells whether the agent of a session runs in a pane: the process of its record, which was there when it was written last, or
// a program of its kind that was there when the session began. A pane id means nothing by itself: the next tmux server has it, too.
func LivesIn(s *presence.Session, p tmux.Pane, all []proc.Process) bool {
	const rounding = time.Second
	if p.Dead {
		return false
	}
	if beat, ok := envelope.ParseTime(s.HeartbeatAt); ok && s.PID > 1 {
		if id, err := proc.Of(s.PID); err == nil && before(s.PID, beat.Add(rounding)) && p.Runs(lineage(s.PID)) && id.Alive() {
			return true
		}
	}
	began, ok := envelope.ParseTime(s.StartedAt)
	if !ok {
		return false
	}
	d, ok := driver.Kind(ProgramOf(s))
	if !ok {
		return false
	}
	root, err := proc.Of(p.PID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(proc.Tree(all, root), func(one proc.Process) bool {
		return Runs(d, one) && before(one.PID, began.Add(rounding)) && one.Alive()
	})
}

// hostOf is the kind of program of a session.
func ProgramOf(s *presence.Session) string {
	if _, ok := driver.Kind(s.Host); ok {
		return s.Host
	}
	return s.Instance.Host()
}

// before tells whether a process was started by then.
func before(pid int, then time.Time) bool {
	began, ok := proc.StartTime(pid)
	return ok && !began.After(then)
}

// lineage is a process, and those above it.
func lineage(pid int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if !yield(pid) {
			return
		}
		for id := range proc.Ancestors(pid) {
			if !yield(id.PID) {
				return
			}
		}
	}
}

// ServerVariable names the tmux server for new sessions.
const ServerVariable = "TMUX_SERVER_NAME"

// Servers are the tmux servers in which agents of the user may live: all that run where tmux keeps its sockets, and the one around.
func Servers(env func(string) string) []tmux.Server {
	all := tmux.All()
	if inside := env("TMUX"); inside != "" {
		if s, err := tmux.FromEnv(inside); err == nil && !s.Among(all) {
			all = append(all, s)
		}
	}
	return all
}
