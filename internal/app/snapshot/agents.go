package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// An Agent is one agent of this machine.
type Agent struct {
	overview.Row

	Tmux    *Session // nil: it is in none
	Program proc.ID  // the agent CLI; the zero value: not known
}

func (r *Agent) set(m overview.Mark) { r.Halted, r.Paused = m.Halted, m.Paused }

// stopped tells whether a halt that is over has stopped an agent, and its user has not let it go on.
func (v *View) stopped(r *Agent) bool {
	return !r.Halted && slices.ContainsFunc(v.Buses, func(b Bus) bool { return b.stopped[r.Instance] })
}

// tabulate makes one row of each agent: the sessions in tmux, each with its connection to a bus, then the other agents that are live on
// a bus. Where here is not "", agents outside that folder are left out.
func (v *View) tabulate(now time.Time, here string) {
	machine, as := proc.Hostname(), now.UTC().Truncate(time.Millisecond)
	taken := map[address.Instance]bool{}
	for i := range v.Sessions {
		l := &v.Sessions[i]
		row := sessionAgent(l)
		if row.Instance != "" {
			taken[row.Instance] = true
			row.Unread, row.More = v.unreadOf(row.Instance)
			for n := range v.Buses {
				b := &v.Buses[n]
				if on := b.connection(row.Instance); on != nil && !l.live {
					l.live, row.Bus = true, b.path
					row.Live = true
					row.Doing = cmp.Or(row.Doing, on.Session.WorkStatus)
				}
			}
		}
		row.Machine, row.Kind, row.AsOf = machine, observe.InTmux, as
		row.set(ofSession(&v.denied, l))
		row.Stopped = v.stopped(&row)
		v.Rows = append(v.Rows, row)
	}
	for n := range v.Buses {
		b := &v.Buses[n]
		for i := range b.agents {
			r := &b.agents[i]
			who := r.Instance.Canonical()
			if r.Session == nil || who.Host() == identity.Human || here != "" && (r.Session.MirroredAt != "" || !app.Below(overview.FolderOf(r), here)) {
				continue
			}
			if taken[who] {
				continue
			}
			taken[who] = true
			row := Agent{Row: overview.Row{
				Agent: cmp.Or(r.Name, who.Label()), CLI: r.Host, Folder: overview.FolderOf(r), Doing: r.Session.WorkStatus, Live: true,
				Instance: who, Bus: b.path, Machine: machine, Kind: observe.Headless, AsOf: as,
			}}
			row.Unread, row.More = v.unreadOf(who)
			if r.Session.MirroredAt != "" {
				row.Machine, row.Mirrored = "", true
				if w := r.Session.Workspace; w != nil {
					row.Machine = w.Host
				}
			}
			if p, ok := r.Session.Agent(); ok && !row.Mirrored {
				row.Program = p
			} else {
				row.NoCLI = !row.Mirrored
			}
			row.set(v.denied.Peer(r))
			row.Stopped = v.stopped(&row)
			v.Rows = append(v.Rows, row)
		}
	}
	slices.SortStableFunc(v.Rows, func(a, b Agent) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Agent, b.Agent), strings.Compare(string(a.Instance), string(b.Instance)))
	})
	v.tellApart()
}

// connection is the latest connection of an agent to a bus, nil for none.
func (b *Bus) connection(who address.Instance) *members.Row {
	i := slices.IndexFunc(b.agents, func(r members.Row) bool { return r.Session != nil && r.Instance.Canonical() == who })
	if i < 0 {
		return nil
	}
	return &b.agents[i]
}

// unreadOf is how much unread mail an agent has on all buses; more: or more than that.
func (v *View) unreadOf(who address.Instance) (n int, more bool) {
	for i := range v.Buses {
		n += v.Buses[i].unread[who]
		more = more || v.Buses[i].more[who]
	}
	return n, more
}

// sessionAgent is the row of a session in tmux, as far as tmux and its program tell.
func sessionAgent(l *Session) Agent {
	r := Agent{Tmux: l, Row: overview.Row{
		Agent: l.Row.Name, CLI: l.Row.Kind(), Folder: l.Row.Pane.Cwd, Since: l.doing.Since, Live: l.sight.State == observe.Alive,
		Session: l.Row.Name, Server: cmp.Or(l.Row.ServerName(), "default"), Registry: l.Registry,
	}}
	if l.Row.Instance != "" {
		r.Instance = address.Instance(l.Row.Instance).Canonical()
	}
	switch l.sight.State {
	case observe.Alive:
		r.Program = l.sight.Process
		if _, agent := driver.Agent(l.Row.Kind()); !agent {
			r.NoCLI = true
		}
		r.Doing, r.Guess = observe.Activity(&l.sight, &l.doing, false), l.doing.Guess
		switch r.Doing {
		case observe.StateWaiting:
			r.Asks, r.Guess = l.doing.Asks, false
		case observe.StateUnknown:
			r.Doing = ""
		}
		if r.Doing == observe.StateLimited {
			r.Until = l.doing.Until
		}
		r.WaitsFor, r.Version = observe.WaitsFor(r.Doing, l.doing.Asks), l.doing.Version
	case observe.Other:
		r.Doing = "another program runs there"
	default:
		if found := observe.FoundWord(l.Row, l.sight); found != "?" && found != "-" {
			r.Doing = found
		}
	}
	return r
}

// tellApart gives rows that would look the same their address, or their tmux server, as their name.
func (v *View) tellApart() {
	type look struct{ agent, cli, folder string }
	count := map[look]int{}
	for i := range v.Rows {
		r := &v.Rows[i]
		count[look{r.Agent, r.CLI, r.Folder}]++
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		switch {
		case count[look{r.Agent, r.CLI, r.Folder}] < 2:
		case r.Instance != "":
			r.Agent = string(r.Instance)
		default:
			r.Agent += " (tmux -L " + r.Server + ")"
		}
	}
}

// Called is what people call an agent: the name of its row, else its name without the id.
func (v *View) Called(who address.Instance) string {
	for i := range v.Rows {
		if r := &v.Rows[i]; r.Instance != "" && r.Instance == who.Canonical() {
			return r.Agent
		}
	}
	return who.Channel()
}
