package live

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/store"
)

// maxBlocked is of how many blocked peers a session is told: more is noise, and whoever may write on the bus can make it.
const maxBlocked = 1000

// follows are the kinds of which the watch is to tell that they changed.
func (p *pushes) follows() []store.Kind {
	if p.wants(blocker.PeerBlocked) || p.wants(blocker.PeerUnblocked) {
		return []store.Kind{store.Blockage}
	}
	return nil
}

// follower is the agent of the session as one who hears of blockages.
func (p *pushes) follower() blocker.Follower {
	return blocker.Follower{Instance: p.instance, Scopes: p.h.session().Interests.Scopes}
}

// blockages looks at all blockages and tells what is news.
func (p *pushes) blockages(ctx context.Context, how manner) error {
	if p.follows() == nil {
		return nil
	}
	all, _, err := blocker.List(ctx, p.h.a.o.Store, blocker.Filter{Active: true})
	if err != nil {
		return fmt.Errorf("look at blockages: %w", err)
	}
	f := p.follower()
	blocked, unblocked, now := f.News(p.blocked, all)
	p.blocked = now
	for n, b := range blocked {
		if n >= maxBlocked {
			break
		}
		p.push(blocker.PeerBlocked, how, b.Told)
	}
	for n, i := range unblocked {
		if n >= maxBlocked {
			break
		}
		p.unblocked(i, how)
	}
	return nil
}

// unblocked tells that an agent is not blocked any more. What a session is told when it opens is what is there.
func (p *pushes) unblocked(i address.Instance, how manner) {
	if how != backlog {
		p.push(blocker.PeerUnblocked, how, func() []byte { return blocker.Cleared(i) })
	}
}

// changed follows a hint that something else than mail and peers is new.
func (p *pushes) changed(ctx context.Context, k store.Key) error {
	if k.Kind != store.Blockage {
		return nil
	}
	if k.Name == "" || len(p.blocked) >= maxBlocked {
		return p.blockages(ctx, missed)
	}
	b, err := blocker.At(ctx, p.h.a.o.Store, k)
	switch _, unfit := errors.AsType[*store.UnfitError](err); {
	case errors.Is(err, store.ErrNotFound):
		return p.blockages(ctx, missed)
	case unfit: // it may be in the making; what it is then is found out by the next look at all
		return nil
	case err != nil:
		return err
	}
	if p.blocked == nil {
		p.blocked = map[address.Instance]address.Instance{}
	}
	f := p.follower()
	switch blocked, unblocked := f.One(p.blocked, b); {
	case blocked:
		p.push(blocker.PeerBlocked, missed, b.Told)
	case unblocked:
		p.unblocked(b.Instance, missed)
	}
	return nil
}
