package kit

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// known refuses to read for an agent that does not exist. Under h2a every agent has a mailbox, which may be empty.
func (c *Call) known(ctx context.Context, w *app.World, i address.Instance) error {
	if c.Under == H2A {
		return nil
	}
	if there, err := exists(ctx, w, i); there || err != nil {
		return err
	}
	rows, err := w.Book.Discover(ctx, members.Filter{Registered: true}, time.Now())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(r members.Row) bool { return r.Instance.Canonical() == i.Canonical() }) {
		return nil // live, and not registered
	}
	flag := "--as"
	if c.Verb.Flag(c.Under, "as") < 0 {
		flag = "--instance"
	}
	var commands []string
	for _, who := range resembling(rows, i, "") {
		commands = append(commands, c.Verb.Name+" "+flag+" "+app.QuoteArg(Name(who)))
	}
	hint := DidYouMean(commands, "tutti ")
	if parent, name, sub := i.Subagent(); sub {
		hint = "tutti subagent spawn " + app.QuoteArg(Clean(name)) + " --parent " + app.QuoteArg(Name(parent))
	}
	if hint == "" {
		hint = `"tutti discover --all" lists the agents of this bus`
	}
	return BadState(hint, "%s %s: no such agent", c.Verb.Name, Clean(string(i)))
}

// KnownSpeaker is known for a speaker that was named, by a flag or in the environment.
func (c *Call) KnownSpeaker(ctx context.Context, w *app.World, s *identity.Speaker) error {
	if !s.Named {
		return nil
	}
	return c.known(ctx, w, s.Instance)
}

// exists tells whether an agent is registered, has a key here, is a bound subagent, or ever got or sent mail.
func exists(ctx context.Context, w *app.World, i address.Instance) (bool, error) {
	if w.Ring.Has(i) {
		return true, nil
	}
	_, err := w.Registry.Registered(ctx, i)
	if !errors.Is(err, registry.ErrNotRegistered) {
		return err == nil, err
	}
	if _, err := w.Registry.Bound(ctx, i); !errors.Is(err, registry.ErrNotBound) {
		return err == nil, err
	}
	if string(i.Canonical()) == i.Channel() {
		if all, err := w.Registry.Channel(ctx, i.Channel()); err != nil || len(all) > 0 {
			return len(all) > 0, err
		}
	}
	sources, err := w.Mail.Sources(ctx, i)
	if err != nil {
		return false, err
	}
	for _, s := range sources {
		if s.Channel {
			continue
		}
		for _, kind := range []store.Kind{store.Inbox, store.Archive, store.Outbox} {
			for _, err := range w.Store.List(ctx, kind, s.Owner) {
				return err == nil, err
			}
		}
	}
	return false, nil
}
