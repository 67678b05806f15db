package cli

import (
	"cmp"
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// A sessionLine is an agent in tmux, with all the names that it has: one row.
type sessionLine struct {
	row      *registry.Row
	registry string // path
	sight    lifecycle.Observation
	doing    lifecycle.Doing
	job      string // its state, "" when it is not known
	live     bool   // present on a bus
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
	var doing []lifecycle.Doing
	o, err := s.observer()
	if err != nil {
		return none
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		view, doing = o.Doings(ctx, running)
	}()
	return func() []sessionLine {
		state := statesOfJobs(parts)
		<-done
		all := make([]sessionLine, len(running))
		for i := range running {
			r := &running[i]
			all[i] = sessionLine{row: r, registry: from[i].path, sight: view.Observe(r), doing: doing[i]}
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

// asks is what the program of a session asks its user, "" when it asks nothing or that is not known.
func (l *sessionLine) asks() string {
	if l.doing.Word == lifecycle.Asking {
		return l.doing.Asks
	}
	return ""
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
	o.Opt("asks", l.asks())
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
