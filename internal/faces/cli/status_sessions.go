package cli

import (
	"cmp"
	"context"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// A sessionLine is an agent in tmux, with all the names that it has: one row.
type sessionLine struct {
	row   *registry.Row
	sight lifecycle.Observation
	job   string // its state, "" when it is not known
	asks  string // what its program asks its user, "" when that is not known
	live  bool   // present on the bus
}

// sessionsNear begins to look at the sessions of this machine that run, and returns what waits for the answer. Where the registry has
// changed since it was read last, the light program is replaced by the one that can read it.
func (c *Call) sessionsNear(ctx context.Context) func() []sessionLine {
	none := func() []sessionLine { return nil }
	s, err := c.sessionsHere()
	if err != nil {
		return none
	}
	parts, err := s.parts(ctx, false)
	if err != nil {
		c.warn("%s", Clean(err.Error()))
		if parts = s.otherParts(ctx); len(parts) == 0 {
			return none
		}
	}
	var running []registry.Row
	var from []*part
	for i := range parts {
		p := &parts[i]
		p.sayProblems(p.problems)
		for n := range p.rows {
			if busy(&p.rows[n]) {
				running, from = append(running, p.rows[n]), append(from, p)
			}
		}
	}
	if len(running) == 0 {
		return none
	}
	var view *lifecycle.View
	var asks []string
	o, err := s.observer()
	if err != nil {
		return none
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		view, asks = o.Asks(ctx, running)
	}()
	return func() []sessionLine {
		state := statesOfJobs(parts)
		<-done
		all := make([]sessionLine, len(running))
		for i := range running {
			r := &running[i]
			all[i] = sessionLine{row: r, sight: view.Observe(r), asks: asks[i]}
			if !from[i].far && all[i].sight.State == lifecycle.Alive {
				from[i].note()
			}
			if r.Job != "" {
				all[i].job = state(r.Job)
			}
		}
		return all
	}
}

// meet joins sessions with those who are on the bus: an agent in tmux is told of once.
func (v *statusView) meet(sessions []sessionLine) {
	v.sessions = sessions
	if len(sessions) == 0 {
		return
	}
	there := map[address.Instance]bool{}
	for i := range v.agents {
		there[v.agents[i].Instance.Canonical()] = true
	}
	if v.you != nil {
		there[v.you.Instance.Canonical()] = true
	}
	shown := map[address.Instance]bool{}
	for i := range v.sessions {
		if r := v.sessions[i].row; r.Instance != "" {
			one := address.Instance(r.Instance).Canonical()
			v.sessions[i].live = there[one]
			shown[one] = true
		}
	}
	for i := range v.agents {
		if !shown[v.agents[i].Instance.Canonical()] {
			v.others = append(v.others, v.agents[i])
		}
	}
}

// elsewhere are the agents that are not in a row of tmux.
func (v *statusView) elsewhere() []members.Row {
	if len(v.sessions) == 0 {
		return v.agents
	}
	return v.others
}

func (c *Call) saySessions(v *statusView) {
	if len(v.sessions) == 0 {
		return
	}
	c.line(c.paint(bold, "tmux ") + " " + plural(len(v.sessions), "session"))
	var rows [][]string
	for i := range v.sessions {
		l := &v.sessions[i]
		on := "not on the bus"
		if l.row.Instance != "" {
			on = l.row.Instance
			if !l.live {
				on += " (not live)"
			}
		}
		talk, work := "-", "-"
		if id := l.row.Conversation(); id != "" {
			talk = short(id)
		}
		if l.row.Job != "" {
			work = strings.TrimSpace("job " + l.row.Job + " " + l.job)
		}
		rows = append(rows, []string{"     ", l.row.Name, on, foundWord(l.row, l.sight) + v.denied.session(l).words(), talk, work, c.App.Shown(l.row.Pane.Cwd)})
	}
	c.table(rows)
}

func (l *sessionLine) json(m mark) []byte {
	var o canonjson.Object
	o.Str("name", l.row.Name)
	o.Str("status", string(l.row.Status))
	o.Str("found", l.sight.State.String())
	o.Opt("agent", l.row.Kind())
	o.Opt("instance", l.row.Instance)
	o.Bool("live", l.live)
	m.json(&o)
	o.Opt("conversation", l.row.Conversation())
	o.Opt("job", l.row.Job)
	o.Opt("jobState", l.job)
	o.Opt("asks", l.asks)
	o.Str("tmuxServer", cmp.Or(l.row.ServerName(), "default"))
	o.Opt("cwd", l.row.Pane.Cwd)
	o.Str("machine", proc.Hostname())
	o.Str("kind", lifecycle.InTmux)
	return o.Bytes()
}

// session returns the mark of a session in tmux. One that does not run an agent CLI has no hooks.
func (d *denial) session(l *sessionLine) mark {
	_, agent := driver.Get(l.row.Kind())
	if l.sight.State != lifecycle.Alive || !agent && l.row.Instance == "" {
		return mark{}
	}
	return d.of(address.Instance(l.row.Instance), l.row.Pane.Cwd)
}
