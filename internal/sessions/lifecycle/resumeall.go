package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// ResumeAll takes up every session again that went without its program having ended by itself: with the machine, with its tmux
// server, or killed. Those that were stopped stay stopped. Sessions that cannot be resumed, or that another process is at work
// on, are left out with a remark; a failure is in its own result. The error is about all.
func (m *Manager) ResumeAll(ctx context.Context, q ResumeRequest) ([]*Resumed, error) {
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	rows, problems, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Resumed
	for _, p := range problems {
		if p.Unusable {
			all = append(all, &Resumed{Name: p.Name, Err: &Error{Kind: Refused, Session: p.Name, Text: "its row cannot be used: " + p.String(), Next: "edit " + m.o.Registry.Path()}})
		}
	}
	for i := range rows {
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		q.Name, q.Conversation, q.Latest = rows[i].Name, "", false // the output of each one is not read
		done, err := m.oneOfAll(ctx, q)
		if done == nil && err == nil {
			continue
		}
		if done == nil {
			done = &Resumed{Name: q.Name, Row: rows[i]}
		}
		if e, ok := errors.AsType[*Error](err); ok && (e.Kind == Nothing || e.Kind == Busy) {
			done.Left = e
		} else {
			done.Err = err
		}
		all = append(all, done)
	}
	return all, nil
}

// oneOfAll takes up one session of all, if it was cut off; nil and no error: it was not. Its row is read when its turn comes: to take up
// those before it can have taken minutes.
func (m *Manager) oneOfAll(ctx context.Context, q ResumeRequest) (*Resumed, error) {
	r, err := m.row(ctx, q.Name)
	if errors.Is(err, errUnregistered) {
		return nil, nil
	}
	if err == nil {
		r, err = m.settled(ctx, r)
	}
	if err != nil || r.Status != registry.Running && !wasLost(&r) {
		return nil, err
	}
	switch s := observe.Look(ctx, &r); {
	case s.State == observe.Alive:
		q.Prompt = "" // it is for those that were away
	case s.State == observe.Dead && s.Pane.Dead && s.Pane.Status >= 0:
		return nil, &Error{
			Kind: Nothing, Session: r.Name, Text: fmt.Sprintf("its program has ended by itself, with status %d", s.Pane.Status),
			Next: "tutti session resume " + r.Name,
		}
	}
	return m.resume(ctx, q, r)
}
