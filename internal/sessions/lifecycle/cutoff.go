package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// lostMember marks a row whose session went without its program having ended by itself: with its tmux server, or with the machine.
const lostMember = "lost"

// Lost writes into a row that its session is gone without its program having ended by itself. Such a session is taken up again by
// [Manager.ResumeAll].
func Lost(r *registry.Row, m *Manager, note string) {
	endedRow(r, m.o.Now(), note, "", r.Conversation() != "")
	r.Set(lostMember, []byte("true"))
}

// wasLost tells whether a row says so, and its conversation was not deleted since.
func wasLost(r *registry.Row) bool {
	return r.Status == registry.Terminated && r.Mode != modePurge && string(r.Get(lostMember)) == "true"
}

// CutOff tells whether the session of a row went without its program having ended by itself, or may have just now: its row
// still says that it runs. One that was stopped, or whose CLI has ended in order, is over.
func CutOff(r *registry.Row) bool { return r.Status == registry.Running || wasLost(r) }

// Settle finds out what became of a session whose worker process is gone, and records it. A row without such a process stays as
// it is. The error is of kind Refused when the process still runs.
func (m *Manager) Settle(ctx context.Context, name string) (registry.Row, error) {
	r, err := m.row(ctx, name)
	if err != nil {
		return r, err
	}
	return m.settled(ctx, r)
}

// settled is the row, with what was cut off in it brought to an end.
func (m *Manager) settled(ctx context.Context, r registry.Row) (registry.Row, error) {
	i := r.Intent
	if i == nil {
		return r, nil
	}
	if by := (proc.ID{PID: i.PID, Start: i.Start, Boot: i.Boot}); by.Alive() && !ours(i) {
		return r, &Error{Kind: Busy, Session: r.Name, Text: fmt.Sprintf("process %d is at work on it (%s)", by.PID, i.Verb), Next: "tutti session status " + r.Name}
	}
	if i.Verb == VerbCreate || i.Verb == VerbResume {
		return m.settleBegin(ctx, &r)
	}
	return r, nil
}

// settleBegin ends a create or a resume that was cut off. A running session is kept, because it was requested.
func (m *Manager) settleBegin(ctx context.Context, r *registry.Row) (registry.Row, error) {
	s := observe.Look(ctx, r)
	if r.OwnerID == "" && s.State != observe.Alive && s.State != observe.Unknown {
		s = observe.Observation{State: observe.Absent} // a create gives its session an owner: this one has another
	}
	if s.State == observe.Unknown {
		return *r, &Error{Kind: Unclear, Session: r.Name, Text: r.Intent.Verb + " was cut off, and tmux does not say whether it succeeded", Err: s.Err}
	}
	begun := s.State == observe.Alive || s.State == observe.Other && !s.Foreign
	instance, screen := "", ""
	if begun {
		instance = m.introduce(ctx, r, &s)
	}
	if s.State == observe.Dead {
		screen = m.lastScreen(ctx, r, &s.Pane)
	}
	talked := !begun && m.exists(r)
	row, err := m.o.Registry.Change(ctx, r.Name, func(row *registry.Row, found bool) error {
		if !found || row.Revision != r.Revision {
			return errTaken
		}
		switch {
		case begun:
			m.lives(row, &s.Pane, s.Process)
			row.VisibleNote = row.Intent.Verb + " was cut off after its program had been started"
			if instance != "" {
				row.Instance = instance
			}
		case s.State == observe.Dead:
			note := row.Intent.Verb + " was cut off, and its program has ended" + HowEnded(&s.Pane)
			endedRow(row, m.endedAt(&s.Pane), note, screen, row.Intent.Verb == VerbResume || talked)
		case talked && row.Intent.Verb == VerbCreate: // what it began is there
			Lost(row, m, row.Intent.Verb+" was cut off after its program had been started, and its session is gone")
		default:
			unbegun(row, m)
		}
		row.Intent = nil
		return nil
	})
	if errors.Is(err, errTaken) { // another process was quicker
		if again, e := m.row(ctx, r.Name); e != nil || again.Intent == nil {
			return again, e
		}
		return *r, atWork(r.Name)
	}
	if err == nil && s.State == observe.Dead {
		err = m.clearPane(ctx, &row, &s.Pane)
	}
	return row, err
}

// introduce tells the bus of a session whose begin was cut off before that.
func (m *Manager) introduce(ctx context.Context, r *registry.Row, s *observe.Observation) string {
	if m.o.Bus.Began == nil {
		return ""
	}
	instance, err := m.o.Bus.Began(ctx, m.birth(r, &s.Pane, s.Process))
	if err != nil {
		m.o.Tell(fmt.Sprintf("session %s is not on the bus: %v", r.Name, err))
	}
	return instance
}

// unbegun is the row of a session of which nothing was started: as it was before, if there was one.
func unbegun(r *registry.Row, m *Manager) {
	note := r.Intent.Verb + " was cut off before its program was started"
	if tree := r.Get(worktreeMember); tree != nil && r.Intent.Verb == VerbCreate {
		note += "; a worktree may be left"
	}
	verb := r.Intent.Verb
	before, _, err := registry.Parse(r.Get(beforeMember))
	was := err == nil && before.Name == r.Name
	if was {
		before.Revision = r.Revision
		*r = before
	}
	switch {
	case r.Status != registry.Running:
		r.VisibleNote = note
	case was || verb == VerbResume:
		Lost(r, m, note)
	default:
		endedRow(r, m.o.Now(), note, "", false)
	}
}
