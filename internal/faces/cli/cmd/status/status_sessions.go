package status

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A sessionLine is an agent in tmux, with all the names that it has: one row.
type sessionLine struct {
	row      *registry.Row
	registry string // path
	sight    observe.Observation
	doing    observe.Doing
	job      string // its state, "" when it is not known
	live     bool   // present on a bus
}

// sessionsNear begins to look at the sessions of this machine that run, and returns what waits for the answer. Where the registry has
// changed since it was read last, the light program is replaced by the one that can read it.
func sessionsNear(ctx context.Context, c *kit.Call, here bool) func() []sessionLine {
	none := func() []sessionLine { return nil }
	s, err := session.SessionsHere(c, session.Location{Here: here})
	if err != nil {
		return none
	}
	parts, err := s.Parts(ctx, false)
	if err != nil {
		c.Warn("%s", kit.Clean(err.Error()))
		if parts = s.FarParts(ctx, false); len(parts) == 0 {
			return none
		}
	}
	var running []registry.Row
	var from []*session.Part
	for i := range parts {
		p := &parts[i]
		p.SayProblems(p.Problems)
		for n := range p.Rows {
			if session.Busy(&p.Rows[n]) {
				running, from = append(running, p.Rows[n]), append(from, p)
			}
		}
	}
	if len(running) == 0 {
		return none
	}
	var view *observe.View
	var doing []observe.Doing
	o, err := s.Observer()
	if err != nil {
		return none
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		view, doing = o.Doings(ctx, running)
	}()
	return func() []sessionLine {
		state := session.StatesOfJobs(parts)
		<-done
		all := make([]sessionLine, len(running))
		for i := range running {
			r := &running[i]
			all[i] = sessionLine{row: r, registry: from[i].Path, sight: view.Observe(r), doing: doing[i]}
			if !from[i].Far && all[i].sight.State == observe.Alive {
				from[i].Note()
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
	if observe.Activity(&l.sight, &l.doing, false) == observe.StateWaiting {
		return l.doing.Asks
	}
	return ""
}

// ofSession returns the mark of a session in tmux. One that does not run an agent CLI has no hooks.
func ofSession(d *fast.Denial, l *sessionLine) fast.Mark {
	_, agent := driver.Agent(l.row.Kind())
	if l.sight.State != observe.Alive || !agent && l.row.Instance == "" {
		return fast.Mark{}
	}
	return d.Of(address.Instance(l.row.Instance), l.row.Pane.Cwd)
}

// attach is the action that shows the terminal of a session.
func (l *sessionLine) attach(label string) todo.Action {
	return todo.Action{ID: "attach", Label: label, Terminal: true, Args: []string{"session", "attach", "--registry", l.registry, l.row.Name}}
}
