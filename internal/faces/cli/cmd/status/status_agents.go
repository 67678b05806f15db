package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// An agentRow is one agent of this machine in the table of status.
type agentRow struct {
	overview.Row

	session *sessionLine // nil: in none
	program proc.ID      // the agent CLI; the zero value: not known
}

func (r *agentRow) set(m fast.Mark) { r.Halted, r.Paused = m.Halted, m.Paused }

// tabulate makes one row of each agent: the sessions in tmux, each with its connection to a bus, then the other agents that are live on
// a bus. Where here is not "", agents outside that folder are left out.
func (v *statusView) tabulate(now time.Time, here string) {
	machine, as := proc.Hostname(), now.UTC().Truncate(time.Millisecond)
	taken := session.Instances{}
	for i := range v.sessions {
		l := &v.sessions[i]
		row := sessionAgent(l)
		if row.Instance != "" {
			taken.Add(l.row.Instance)
			row.Unread, row.More = v.unreadOf(row.Instance)
			for n := range v.buses {
				b := &v.buses[n]
				if on := b.connection(row.Instance); on != nil && !l.live {
					l.live, row.Bus = true, b.path
					row.Live = true
					row.Doing = cmp.Or(row.Doing, on.Session.WorkStatus)
				}
			}
		}
		row.Machine, row.Kind, row.AsOf = machine, observe.InTmux, as
		row.set(ofSession(&v.denied, l))
		v.rows = append(v.rows, row)
	}
	for n := range v.buses {
		b := &v.buses[n]
		for i := range b.agents {
			r := &b.agents[i]
			who := r.Instance.Canonical()
			if r.Session == nil || who.Host() == identity.Human || here != "" && (r.Session.MirroredAt != "" || !kit.Below(session.WorkDir(r), here)) {
				continue
			}
			if taken[who] {
				continue
			}
			taken.Add(string(who))
			row := agentRow{Row: overview.Row{
				Agent: cmp.Or(r.Name, who.Label()), CLI: r.Host, Folder: session.WorkDir(r), Doing: r.Session.WorkStatus, Live: true,
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
				row.program = p
			}
			row.set(v.denied.Peer(r))
			v.rows = append(v.rows, row)
		}
	}
	slices.SortStableFunc(v.rows, func(a, b agentRow) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Agent, b.Agent), strings.Compare(string(a.Instance), string(b.Instance)))
	})
	v.tellApart()
}

// connection is the latest connection of an agent to a bus, nil for none.
func (b *busView) connection(who address.Instance) *members.Row {
	i := slices.IndexFunc(b.agents, func(r members.Row) bool { return r.Session != nil && r.Instance.Canonical() == who })
	if i < 0 {
		return nil
	}
	return &b.agents[i]
}

// unreadOf is how much unread mail an agent has on all buses; more: or more than that.
func (v *statusView) unreadOf(who address.Instance) (n int, more bool) {
	for i := range v.buses {
		n += v.buses[i].unread[who]
		more = more || v.buses[i].more[who]
	}
	return n, more
}

// sessionAgent is the row of a session in tmux, as far as tmux and its program tell.
func sessionAgent(l *sessionLine) agentRow {
	r := agentRow{session: l, Row: overview.Row{
		Agent: l.row.Name, CLI: l.row.Kind(), Folder: l.row.Pane.Cwd, Since: l.doing.Since, Live: l.sight.State == observe.Alive,
		Session: l.row.Name, Server: cmp.Or(l.row.ServerName(), "default"), Registry: l.registry,
	}}
	if l.row.Instance != "" {
		r.Instance = address.Instance(l.row.Instance).Canonical()
	}
	switch l.sight.State {
	case observe.Alive:
		r.program = l.sight.Process
		r.Doing, r.Guess = observe.Activity(&l.sight, &l.doing, false), l.doing.Guess
		switch r.Doing {
		case observe.StateWaiting:
			r.Asks, r.Guess = l.doing.Asks, false
		case observe.StateUnknown:
			r.Doing = ""
		}
	case observe.Other:
		r.Doing = "another program runs there"
	default:
		if found := session.FoundWord(l.row, l.sight); found != "?" && found != "-" {
			r.Doing = found
		}
	}
	return r
}

// tellApart gives rows that would look the same their address, or their tmux server, as their name.
func (v *statusView) tellApart() {
	type look struct{ agent, cli, folder string }
	count := map[look]int{}
	for i := range v.rows {
		r := &v.rows[i]
		count[look{r.Agent, r.CLI, r.Folder}]++
	}
	for i := range v.rows {
		r := &v.rows[i]
		switch {
		case count[look{r.Agent, r.CLI, r.Folder}] < 2:
		case r.Instance != "":
			r.Agent = string(r.Instance)
		default:
			r.Agent += " (tmux -L " + r.Server + ")"
		}
	}
}

// doing is what an agent does, in words, and since when that is known.
func (v *statusView) doing(r *agentRow) (text string, since time.Time) {
	text, since = r.Doing, r.Since
	switch {
	case r.Asks != "":
		text += ": " + r.Asks
	case r.Guess && text != "":
		text += "?"
	}
	var more []string
	switch m := (fast.Mark{Halted: r.Halted, Paused: r.Paused}); {
	case m.Halted:
		more = append(more, v.reach(r))
		if text == "" {
			since = v.halted.Since
		}
	case m.Paused:
		more = append(more, "tools paused")
		if p, ok := halt.Covering(v.denied.Pauses, string(r.Instance), r.Folder); ok && text == "" {
			since = p.Since
		}
	}
	if r.Unread > 0 && r.Bus != "" && !driver.Wakeable(r.Instance.Host()) {
		more = append(more, "cannot be woken")
	}
	if text != "" {
		more = slices.Insert(more, 0, text)
	}
	return strings.Join(more, ", "), since
}

// reach is what is known of a halt at an agent.
func (v *statusView) reach(r *agentRow) string {
	if a := v.reached.Of(r.program.PID, string(r.Instance)); a != nil {
		return a.Short()
	}
	return "halt not confirmed"
}

// called is what people call an agent: the name of its row, else its name without the id.
func (v *statusView) called(who address.Instance) string {
	for i := range v.rows {
		if r := &v.rows[i]; r.Instance != "" && r.Instance == who.Canonical() {
			return r.Agent
		}
	}
	return who.Channel()
}
