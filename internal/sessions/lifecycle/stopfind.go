package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// stopping is one stop at work.
type stopping struct {
	m    *Manager
	q    StopRequest
	row  registry.Row // as it was read; made up without a row
	bare bool         // there is no row that could be written
	out  *Stopped

	life  driver.Life
	sight observe.Observation
	place driver.Site
	srv   tmux.Server
	first proc.ID // of the pane; the zero ID when it is not known
	as    registry.Row
	shown string         // the screen as it was found with the session; "" when it has to be asked for
	kin   []proc.Process // of every look so far
	empty bool           // the last look found no process
	began time.Time
	told  bool // the bus has recorded the end
	// remained: the row says already how the session ended, and processes of it still ran
	remained bool
	cut      bool // an earlier purge was killed when it had begun to delete
}

func (s *stopping) note(format string, args ...any) {
	s.out.Notes = append(s.out.Notes, fmt.Sprintf(format, args...))
}

func (s *stopping) fail(kind Kind, err error, text, next string) error {
	return &Error{Kind: kind, Session: s.row.Name, Text: text, Err: err, Next: next}
}

// find looks for the session: under its name, and, if there is none or it has another owner, by its owner. Users rename
// sessions.
func (s *stopping) find(ctx context.Context) {
	s.sight = s.look(ctx)
	if s.row.OwnerID == "" || s.sight.State != observe.Absent && !s.sight.Foreign {
		return
	}
	snap, err := s.srv.Panes(ctx)
	if errors.Is(err, tmux.ErrAbsent) {
		return
	}
	if err != nil {
		s.sight = observe.Observation{Err: err}
		return
	}
	var first *tmux.Pane // its user may have made others in front of it
	for i := range snap.Panes {
		if p := &snap.Panes[i]; p.Owner == s.row.OwnerID && (first == nil || observe.OlderPane(*p, *first)) {
			first = p
		}
	}
	if first != nil {
		s.sight = observe.Judge(&s.row, *first, nil)
		s.note("tmux called it %s", first.SessionName)
	}
}

// look finds the session of the row. The screen of the pane that the row names comes with the same answer of tmux.
func (s *stopping) look(ctx context.Context) observe.Observation {
	want := tmux.Want{ID: s.row.Pane.ID, PID: s.row.Pane.PID}
	pane, screen, err := s.srv.FindShown(ctx, s.row.Name, want, lastScreen)
	if s.shown = ""; err == nil && pane.ID == want.ID && pane.PID == want.PID {
		s.shown = screen
	}
	return observe.Judge(&s.row, pane, err)
}

// turn waits until no other process is at the session: two stops at once end it once. A process that begins or resumes it gets
// a while, and one that is stuck does not prevent its end.
func (s *stopping) turn(ctx context.Context) error {
	limit := s.m.o.Now().Add(turnLimit)
	for {
		by := holder(&s.row)
		if by == (proc.ID{}) || !by.Alive() {
			return nil
		}
		if s.m.o.Now().After(limit) {
			if s.row.Intent.Verb != VerbStop || s.q.Force {
				return nil
			}
			return s.fail(Refused, nil, fmt.Sprintf("process %d is stopping it since %s", by.PID, s.row.Intent.At.Format(time.TimeOnly)), "wait, or take it over: --force")
		}
		ended, stop, err := proc.End(by)
		if err != nil {
			ended, stop = nil, func() {}
		}
		select {
		case <-ended:
		case <-time.After(glance):
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
		row, err := s.m.row(ctx, s.row.Name)
		if err != nil {
			return err
		}
		s.row, s.out.Was, s.out.Row = row, row.Status, row
	}
}

const (
	// turnLimit is how long another process may be at a session.
	turnLimit = 20 * time.Second
	// glance is the time between two looks at something that reports no changes: a screen, the registry.
	glance = 25 * time.Millisecond
)

const VerbStop = "stop"

// holder is the process that is at a session; the zero ID: none.
func holder(r *registry.Row) proc.ID {
	if r.Intent == nil || r.Intent.PID <= 1 {
		return proc.ID{}
	}
	return proc.ID{PID: r.Intent.PID, Start: r.Intent.Start, Boot: r.Intent.Boot}
}

// ended is for a row that says that the session has ended: only a purge has anything to do.
func (s *stopping) ended(ctx context.Context, lives bool) error {
	if lives {
		s.note("tmux has a session of that name which is its own: --force ends it")
	}
	if !s.q.Purge || s.row.Status == registry.Terminated && s.row.Mode == modePurge {
		s.out.Already = true
		return nil
	}
	s.place = s.placeOf()
	if err := s.purge(ctx); err != nil {
		return err
	}
	return s.write(ctx, s.final)
}

// judge judges what was found in tmux.
func (s *stopping) judge(ctx context.Context) error {
	switch v := s.sight; v.State {
	case observe.Unknown:
		return s.fail(Unclear, v.Err, "tmux did not answer, and nothing was done", "")
	case observe.Absent:
		if s.bare {
			return s.fail(Refused, nil, "neither the registry nor tmux server "+s.row.ServerName()+" has it", "tutti session list")
		}
		s.first, _ = observe.FirstProcess(&s.row)
		if server, ok := s.unreachable(ctx); ok {
			return s.fail(Unclear, nil, fmt.Sprintf("process %d is the tmux server in which it lives, and %s", server, observe.Unreachable),
				fmt.Sprintf("kill -USR1 %d makes the socket again", server))
		}
		s.out.Gone = true
	case observe.Dead:
		s.out.Exited = true
	case observe.Alive:
		s.first = v.Process
	case observe.Other:
		if s.bare || s.q.Force {
			break
		}
		if v.Foreign {
			return s.fail(NotTheOne, nil, "tmux has a session of that name which is not the one of its row: "+ownerWords(&s.row, v.Pane),
				"look at it: tmux -L "+s.row.ServerName()+" attach -t ="+s.row.Name+"; --force ends it all the same")
		}
		if s.row.OwnerID == "" {
			return s.fail(NotTheOne, nil, fmt.Sprintf("process %d is the first one of its pane, and not %d as its row says", v.Pane.PID, s.row.Pane.PID), "--force ends it all the same")
		}
		s.note("process %d is the first one of its pane, and not %d as its row said", v.Pane.PID, s.row.Pane.PID)
	}
	s.as = s.row.Clone()
	if s.sight.State == observe.Other {
		s.as.OwnerID = s.sight.Pane.Owner
		if id, err := proc.Of(s.sight.Pane.PID); err == nil && !s.sight.Pane.Dead {
			s.first = id
		}
	}
	return nil
}

// unreachable tells whether the program lives in a tmux server that cannot be asked, but is there. One that is just ending is not.
func (s *stopping) unreachable(ctx context.Context) (pid int, is bool) {
	first, sure := observe.RememberedProcess(&s.row)
	if !first.Alive() {
		return 0, false
	}
	parent, err := proc.Parent(first.PID)
	if err != nil || !observe.IsTmuxServer(parent) {
		return 0, false
	}
	// Where it answers the session is gone, and the program goes on without.
	if snap, err := s.srv.Panes(ctx); err == nil && (snap.PID == parent || !sure) {
		return 0, false
	}
	id, err := proc.Of(parent)
	return parent, err == nil && !allGone(ctx, serverEnds, id)
}

// serverEnds is how long a tmux server that was killed takes to be gone.
const serverEnds = 500 * time.Millisecond

func ownerWords(r *registry.Row, p tmux.Pane) string {
	said := func(owner string) string {
		if owner == "" {
			return "none"
		}
		return owner
	}
	return "its owner is " + said(p.Owner) + ", that of the row " + said(r.OwnerID)
}

// within tells whether this process is a part of the session: by its environment, or by its parents.
func (s *stopping) within() bool {
	if s.as.OwnerID != "" && s.m.o.Env(observe.Variable) == s.as.OwnerID {
		return true
	}
	if s.first.PID <= 1 {
		return false
	}
	for id := range proc.Ancestors(proc.Self().PID) {
		if id == s.first {
			return true
		}
	}
	return false
}
