package server

import (
	"context"

	"tutti/internal/attention/live"
	"tutti/internal/bus/presence"
	"tutti/internal/governance/agreement"
)

// deals follows the negotiations of a session: those of its agent, and those in which it takes an interest.
func (b *bus) deals(s *presence.Session) live.Deals {
	return followed{b.agree.Follow(s.Instance, s.Interests.Negotiations)}
}

type followed struct{ f *agreement.Follower }

// Look is of attend.Deals.
func (f followed) Look(ctx context.Context) ([]live.Deal, error) {
	grown, err := f.f.Look(ctx)
	all := make([]live.Deal, len(grown))
	for n, g := range grown {
		all[n] = live.Deal(g)
	}
	return all, err
}
