package live

import (
	"context"
	"fmt"

	"tutti/internal/governance/blocker"
	"tutti/internal/store"
)

// maxBlocked is how many blocked peers a session is notified of: more is noise, and anyone who may write on the bus can make
// it.
const maxBlocked = 1000

// follows are the kinds of which the watch is to tell that they changed.
func (p *pushes) follows() []store.Kind {
	var all []store.Kind
	if p.wantsBlocked() {
		all = append(all, store.Blockage)
	}
	if p.h.a.o.Deals != nil && p.wants(EntriesAppended) {
		all = append(all, store.Journal)
	}
	return all
}

func (p *pushes) wantsBlocked() bool {
	return p.wants(blocker.PeerBlocked) || p.wants(blocker.PeerUnblocked)
}

// blockages looks at all blockages and tells what is news.
func (p *pushes) blockages(ctx context.Context, how manner) error {
	if !p.wantsBlocked() {
		return nil
	}
	all, _, err := blocker.List(ctx, p.h.a.o.Store, blocker.Filter{Active: true})
	if err != nil {
		return fmt.Errorf("look at blockages: %w", err)
	}
	f := blocker.Follower{Instance: p.instance, Scopes: p.h.session().Interests.Scopes}
	blocked, unblocked, now := f.News(p.blocked, all)
	p.blocked = now
	for _, b := range blocked[:min(len(blocked), maxBlocked)] {
		p.push(blocker.PeerBlocked, how, b.Told)
	}
	if how == backlog { // the state when it opens is reported to a session as such
		return nil
	}
	for _, i := range unblocked[:min(len(unblocked), maxBlocked)] {
		p.push(blocker.PeerUnblocked, how, func() []byte { return blocker.Cleared(i) })
	}
	return nil
}

// changed follows a hint that a journal has grown, or that a blockage is new or another one. One that cannot be read may be in the making: what it is then is found out by the
// next look.
func (p *pushes) changed(ctx context.Context, k store.Key) error {
	if k.Kind == store.Journal {
		if k.Name != "" { // else it is a full look: the negotiations have their own
			poke(p.h.deals)
		}
		return nil
	}
	if k.Name != "" {
		if _, err := blocker.At(ctx, p.h.a.o.Store, k); store.IsUnfit(err) {
			return nil
		}
	}
	return p.blockages(ctx, missed)
}
