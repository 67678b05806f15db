package presence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Reap deletes the sessions of an agent whose process is gone, and returns them. It is for the agent's own next session: an
// agent whose CLI crashed must not appear twice until the old record expires.
func (p *Presence) Reap(ctx context.Context, i address.Instance, keep address.SessionID, alive func(pid int) bool) ([]*Session, error) {
	found, err := p.with(ctx, byInstance+string(i.Canonical()), func(s *Session) bool {
		return s.SessionID != keep && s.PID > 0 && s.MirroredAt == "" && !alive(s.PID)
	})
	if err != nil {
		return nil, err
	}
	var gone []*Session
	for _, s := range found {
		switch err := p.docs.Delete(ctx, s.key, s.rev); {
		case err == nil:
			gone = append(gone, s)
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound): // it lives after all, or another process was faster
		default:
			return gone, fmt.Errorf("take away session %q: %w", s.SessionID, err)
		}
	}
	return gone, nil
}

// Shown returns the fresh sessions of an agent that were mirrored from another machine, and deletes those that are not fresh
// any more. It is for the program that mirrors them: nothing else ends them, and each start of the agent over there would leave
// a record here for a day.
func (p *Presence) Shown(ctx context.Context, i address.Instance, now time.Time) (fresh []*Session, err error) {
	found, err := p.with(ctx, byInstance+string(i.Canonical()), func(s *Session) bool { return s.MirroredAt != "" })
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if !Absent(s, now, p.ttl()) {
			fresh = append(fresh, s)
			continue
		}
		err := p.docs.Delete(ctx, s.key, s.rev)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("take away session %q: %w", s.SessionID, err)
		}
	}
	return fresh, nil
}

// With returns the session as c would leave it, without writing it. What c cannot change that way stays as it is.
func (s *Session) With(c Change) *Session {
	next, err := Parse(c.apply(s.Raw))
	if err != nil || c.check() != nil {
		return s
	}
	next.key, next.rev, next.stored = s.key, s.rev, s.stored
	return next
}
