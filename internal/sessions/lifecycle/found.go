package lifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// autoDetected is the recorded end of a row that was not stopped.
const autoDetected = "auto-detected"

// An End says how the unrequested end of a session was found.
type End struct {
	How   string // in words, for the row
	Lost  bool   // the session went with its server or its machine
	Alone bool   // its pane is the only one of the tmux session
}

// RecordEnd writes that a session has ended, if its row is still what was looked at, and takes away what tmux has kept of it. It reports
// whether the row was written.
func (m *Manager) RecordEnd(ctx context.Context, r *registry.Row, s *observe.Observation, e End) (done bool, err error) {
	server, err := observe.ServerOf(r)
	if err != nil {
		return false, err
	}
	screen := ""
	if s.State == observe.Dead {
		text, _ := server.Capture(ctx, s.Pane.Ref(), tmux.Capture{History: -1}) // the end counts, with a picture or without
		screen = registry.Screen(lastWords(text))
	}
	row, err := m.o.Registry.Change(ctx, r.Name, func(now *registry.Row, found bool) error {
		if !found || now.Revision != r.Revision || now.Intent != nil || now.Status != registry.Running || now.OwnerID != r.OwnerID {
			return registry.ErrNoChange
		}
		if e.Lost {
			Lost(now, m, e.How)
		} else {
			endedRow(now, m.o.Now(), e.How, screen, now.Conversation() != "")
		}
		now.Mode = autoDetected
		done = true
		return nil
	})
	if err != nil || !done {
		return false, err
	}
	if m.o.Bus.Ended != nil {
		if e := m.o.Bus.Ended(ctx, &row); e != nil {
			m.o.Tell("the bus was not told of the end of " + r.Name + ": " + e.Error())
		}
	}
	if row.Job != "" && m.o.Jobs != nil {
		if e := m.o.Jobs(ctx, row.Job, "error", "the session of its agent has ended"); e != nil && !errors.Is(e, ErrJobOver) {
			m.o.Tell("job " + row.Job + " was not told that its session ended: " + e.Error())
		}
	}
	if s.State == observe.Dead && s.Pane.Dead && s.Pane.Attached == 0 && e.Alone {
		if e := server.Kill(ctx, s.Pane); e != nil && !errors.Is(e, tmux.ErrAbsent) {
			m.o.Tell("the last screen of " + r.Name + " stays in tmux: " + e.Error())
		}
	}
	return true, nil
}

// RecordConversation writes which conversation the program of a session is in, if its row is still what was looked at.
func (m *Manager) RecordConversation(ctx context.Context, r *registry.Row, id string, by Evidence) (done bool, err error) {
	_, err = m.o.Registry.Change(ctx, r.Name, func(now *registry.Row, found bool) error {
		if !found || now.Revision != r.Revision || now.Intent != nil {
			return registry.ErrNoChange
		}
		setProven(now, r.Kind(), id, by)
		done = true
		return nil
	})
	return done, err
}

// Adopt gives a row to a session that looks like ours and has none.
func (m *Manager) Adopt(ctx context.Context, f *observe.Found) (done bool, err error) {
	_, err = m.o.Registry.Change(ctx, f.Name, func(r *registry.Row, found bool) error {
		if found {
			return registry.ErrNoChange
		}
		r.Server, r.Agent, r.OwnerID = f.Server, f.Kind, f.Pane.Owner
		if r.Server == "default" {
			r.Server = ""
		}
		m.present(r, &f.Pane, f.Process)
		r.Pane.Cwd, r.CreatedAt = f.Pane.Path, registry.Stamp(f.Pane.SessionCreated)
		r.VisibleNote = "auto-registered"
		if f.Kind != "" {
			r.SetConversation(f.Kind, "")
			if f.Conversation != "" {
				setProven(r, f.Kind, f.Conversation, SelfReport)
			}
		}
		done = true
		return nil
	})
	return done, err
}

// NextLook is the first look at a new session that was not done yet, and how long after its beginning it is due; "" when all were done.
func NextLook(r *registry.Row) (look string, after time.Duration) {
	done := Looks(r)
	for _, l := range laterLooks {
		if len(done) > 0 && !slices.Contains(done, l.name) {
			return l.name, l.after
		}
	}
	return "", 0
}

// LookAgain looks at a new session, with its screen, and writes down what it shows.
func (m *Manager) LookAgain(ctx context.Context, f *observe.Found, look string) (done bool, err error) {
	server, err := observe.ServerOf(f.Row)
	if err != nil {
		return false, err
	}
	kind, ok := driver.Kind(f.Kind)
	if !ok {
		kind, _ = driver.Kind("custom")
	}
	b := &begin{m: m, verb: VerbCreate, kind: kind, server: server, row: f.Row.Clone(), pane: f.Pane, first: f.Process}
	if !f.Row.ResumedAt.IsZero() {
		b.verb = VerbResume
	}
	if b.looked(ctx, true) {
		return true, b.over(ctx, look)
	}
	return true, b.change(ctx, func(r *registry.Row) {
		addLook(r, look)
		if r.Revision == f.Row.Revision {
			b.noted(r)
		}
	})
}
