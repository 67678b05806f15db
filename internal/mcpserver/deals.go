package mcpserver

import (
	"context"

	"tutti/internal/agreement"
	"tutti/internal/attend"
	"tutti/internal/presence"
)

// deals follows the negotiations of a session: those of its agent, and those in which it takes an interest.
func (b *bus) deals(s *presence.Session) attend.Deals {
	return followed{b.agree.Follow(s.Instance, s.Interests.Negotiations)}
}

type followed struct{ f *agreement.Follower }

// Look is of attend.Deals.
func (f followed) Look(ctx context.Context) ([]attend.Deal, error) {
	grown, err := f.f.Look(ctx)
	all := make([]attend.Deal, len(grown))
	for n, g := range grown {
		all[n] = attend.Deal(g)
	}
	return all, err
}
