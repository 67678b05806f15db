package lifecycle

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// Remove takes the row of a session that has ended out of the registry, and returns it. The conversation and a worktree stay.
func (m *Manager) Remove(ctx context.Context, name string) (registry.Row, error) {
	r, err := m.settledRow(ctx, name)
	if err != nil {
		return r, err
	}
	s := observe.Look(ctx, &r)
	switch {
	case s.State == observe.Unknown:
		return r, &Error{Kind: Unclear, Session: name, Text: "tmux does not say whether it runs", Err: s.Err}
	case s.State == observe.Alive, s.State == observe.Other && !s.Foreign, r.Status == registry.Running:
		return r, &Error{Kind: Refused, Session: name, Text: "it has not ended", Next: "tutti session stop " + name}
	case s.State == observe.Dead:
		if err := m.clearPane(ctx, &r, &s.Pane); err != nil {
			return r, err
		}
	}
	if err := m.noneLeft(ctx, &r); err != nil {
		return r, err
	}
	return r, m.o.Registry.Remove(ctx, name, unchanged(&r))
}

// Rename gives a session another name, in tmux first. Who is cut off in between can do it again.
func (m *Manager) Rename(ctx context.Context, name, to string) error {
	if err := registry.CheckName(to); err != nil {
		return &Error{Kind: Refused, Session: name, Text: "it cannot be renamed", Err: err}
	}
	r, err := m.settledRow(ctx, name)
	if err != nil {
		return err
	}
	if _, err := m.row(ctx, to); !errors.Is(err, errUnregistered) {
		return &Error{Kind: Refused, Session: name, Text: "there is a session " + to + " already", Err: err}
	}
	server, err := observe.ServerOf(&r)
	if err != nil {
		return err
	}
	snap, err := server.Panes(ctx)
	if err != nil && !errors.Is(err, tmux.ErrAbsent) {
		return &Error{Kind: Unclear, Session: name, Text: "tmux does not say whether it runs", Err: err}
	}
	if snap != nil && r.OwnerID != "" {
		at := slices.IndexFunc(snap.Panes, func(p tmux.Pane) bool { return p.Owner == r.OwnerID })
		if at >= 0 && snap.Panes[at].SessionName != to {
			if err := server.Rename(ctx, snap.Panes[at], to); err != nil {
				return &Error{Kind: Refused, Session: name, Text: "tmux does not rename it", Err: err}
			}
		}
	}
	m.reached("renamed")
	return m.o.Registry.Rename(ctx, name, to, unchanged(&r))
}

// settledRow is the row of a session that no other process is changing.
func (m *Manager) settledRow(ctx context.Context, name string) (registry.Row, error) {
	r, err := m.row(ctx, name)
	if errors.Is(err, errUnregistered) {
		return r, &Error{Kind: Refused, Session: name, Text: "not in the registry " + m.o.Registry.Path(), Next: "tutti session list"}
	}
	if err == nil {
		r, err = m.settled(ctx, r)
	}
	if err == nil && r.Intent != nil {
		err = &Error{Kind: Refused, Session: name, Text: r.Intent.Verb + " was cut off", Next: "tutti session stop " + name}
	}
	return r, err
}

// unchanged refuses a row that another process has changed meanwhile.
func unchanged(r *registry.Row) func(now *registry.Row) error {
	return func(now *registry.Row) error {
		if now.Revision != r.Revision {
			return atWork(r.Name)
		}
		return nil
	}
}
