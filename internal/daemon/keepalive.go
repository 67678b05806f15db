package daemon

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/presence"
	"tutti/internal/roster"
	"tutti/internal/session"
)

// keepEvery is the time between two looks at the panes: a session that nobody keeps counts as gone after three of them.
const keepEvery = presence.Expiry / 3

// keepalive is the part that keeps agents in tmux present while their own program lives in their pane. It only looks from time to time:
// no client stays at the tmux servers of the user for it, and where no session on the bus names a pane, none is asked.
func keepalive(ctx context.Context, s *Site) error {
	known := map[address.SessionID]bool{}
	said := map[string]bool{}
	k := session.Keepalive{
		Presence: s.World.Presence,
		Kept: func(p *presence.Session) {
			if known[p.SessionID] {
				return
			}
			known[p.SessionID] = true
			s.Tell(Event{
				Kind: "kept", Text: "keeps " + string(p.Instance) + " present, whose program runs in pane " + p.Launch.Tmux.Pane,
				Set: func(o *canonjson.Object) {
					o.Str("for", string(p.Instance))
					o.Str("session", string(p.SessionID))
					o.Str("pane", p.Launch.Tmux.Pane)
				},
			})
		},
		Problem: func(err error) {
			if text := err.Error(); !said[text] {
				said[text] = true
				s.Fault(text)
			}
		},
	}
	s.Ready("keeps agents in tmux present as long as their program runs in their pane")
	timer := time.NewTimer(keepEvery)
	defer timer.Stop()
	for {
		k.Servers = session.Servers(s.rows(), s.Facts.Env)
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

// rows are those of the registry of sessions where the program was started, as far as they are known without reading it.
func (s *Site) rows() []roster.Row {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	cache, err := s.World.App.CacheDir()
	if err != nil {
		return nil
	}
	path, _ := roster.Place(dir, "", s.Facts.Env)
	rows, _ := roster.Cached(path, cache)
	return rows
}
