package daemon

import (
	"context"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
)

// keepEvery is the time between two looks at the panes: a session without a keeper counts as gone after three of them.
const keepEvery = presence.Expiry / 3

// keepalive is the part that keeps agents in tmux present while their own program lives in their pane, on whatever tmux server of the
// user. It only looks from time to time: no client stays at the servers for it, and where no session on the bus names a pane, none is asked.
func keepalive(ctx context.Context, s *Site) error {
	known := map[address.SessionID]bool{}
	said := map[string]bool{}
	k := monitor.Keepalive{
		Presence: s.World.Presence, Servers: func() []tmux.Server { return observe.Servers(s.Facts.Env) },
		Kept: func(p *presence.Session) {
			if known[p.SessionID] {
				return
			}
			known[p.SessionID] = true
			s.Tell(Event{
				Kind: "kept", Text: "keeps " + string(p.Instance) + " present, whose program runs in pane " + p.Launch.Tmux.Pane,
				For: p.Instance, Session: string(p.SessionID), Pane: p.Launch.Tmux.Pane,
			})
		},
		Problem: func(err error) {
			if text := err.Error(); !said[text] {
				said[text] = true
				s.Fault(text)
			}
		},
	}
	s.Ready("keeps agents in tmux live while their program runs in its pane")
	timer := time.NewTimer(keepEvery)
	defer timer.Stop()
	for {
		if err := k.Pass(ctx); err != nil {
			return err
		}
		timer.Reset(keepEvery)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}
