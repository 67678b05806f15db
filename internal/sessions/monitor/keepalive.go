package monitor

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/store"
)

// A Keepalive says of agents that live in tmux, and do not say so themselves, that they are there.
type Keepalive struct {
	Presence interface {
		All(ctx context.Context) ([]*presence.Session, []error, error)
		Keep(ctx context.Context, id address.SessionID, now time.Time) (*presence.Session, error)
	}
	// Servers returns the tmux servers in which agents are looked for, as of now.
	Servers func() []tmux.Server
	// Every is the time between two passes; 0: 30 s.
	Every time.Duration
	// Kept is called for each session that was kept, Problem for what went wrong with one, or with a server. Both may be nil.
	Kept    func(s *presence.Session)
	Problem func(err error)
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// Run makes passes until the context ends: now, each time the interval is over, and when tmux says that something has changed, so that an
// agent that has just begun is there at once.
func (k *Keepalive) Run(ctx context.Context) error {
	every := k.Every
	if every <= 0 {
		every = netEvery
	}
	e := newListener()
	defer e.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		case <-e.heard:
		}
		watched := map[string]tmux.Server{}
		for _, s := range k.Servers() {
			if len(watched) < maxWatched { // for others the interval has to do
				watched[s.String()] = s
			}
		}
		e.listen(ctx, watched) // before the look: what happens after it is heard
		if err := k.Pass(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		timer.Reset(every)
		if err := sleep(ctx, min(every, between)); err != nil { // however much is heard
			return err
		}
	}
}

// maxWatched bounds how many servers are watched at a time: it takes a program for each.
const maxWatched = 8

// Pass keeps those sessions whose agent lives in its pane. These are not kept: one that was closed or came from another
// machine, and one whose pane runs something else by now, or on a server of another life.
func (k *Keepalive) Pass(ctx context.Context) error {
	all, _, err := k.Presence.All(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s *presence.Session) bool { return !observe.InLocalPane(s) })
	if len(all) == 0 {
		return nil
	}
	panes := map[string][]tmux.Pane{}
	for _, s := range k.Servers() {
		snap, err := s.Panes(ctx)
		if err != nil {
			if !errors.Is(err, tmux.ErrAbsent) {
				k.problem(err)
			}
			continue
		}
		for _, p := range snap.Panes {
			panes[p.ID] = append(panes[p.ID], p)
		}
	}
	now := time.Now()
	if k.Now != nil {
		now = k.Now()
	}
	var processes []proc.Process
	for _, s := range all {
		found := panes[s.Launch.Tmux.Pane]
		if len(found) > 0 && processes == nil {
			if processes, err = proc.List(); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(found, func(p tmux.Pane) bool { return observe.LivesIn(s, p, processes) }) {
			continue
		}
		switch kept, err := k.Presence.Keep(ctx, s.SessionID, now); {
		case errors.Is(err, store.ErrNotFound): // it was taken away meanwhile
		case err != nil:
			k.problem(err)
		case k.Kept != nil:
			k.Kept(kept)
		}
	}
	return nil
}

func (k *Keepalive) problem(err error) {
	if k.Problem != nil {
		k.Problem(err)
	}
}
