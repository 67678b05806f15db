package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Book looks addresses up in registry and presence. Its members are set once, before the first call; it is safe for
// concurrent use.
type Book struct {
	Registry *registry.Registry
	Presence *presence.Presence
	// Names returns what agents are called now, by their canonical ids, where their registration has an older name. It is
	// asked for rows of registrations only; nil: there are none.
	Names func() map[address.Instance]string
}

// A Found is what the book says of one address.
type Found struct {
	Decision
	// Live is how many fresh sessions have exactly this address, in any spelling. For a channel it is 0 even when
	// LiveCandidate answers to it.
	Live int
	// Unknown: the address is a full id, or a subagent of one, that no registration and no session has. No agent is known to
	// read mail put there.
	Unknown bool
	// Away: no session of it is here, and its registration, or what another bus shows of it, says that it is on another machine.
	// An agent of this bus may be registered with an endpoint, too: who has its private key knows.
	Away *Away
}

// An Away is how an agent on another machine is reached.
type Away struct {
	URL      string // its endpoint; "": none is known
	Mirrored bool   // another bus has named it
}

// Resolve judges an address by what is on the bus now, and reads only what concerns it: for a full id its own sessions and
// registration, for a channel the agents under it.
func (b *Book) Resolve(ctx context.Context, target string, now time.Time) (Found, error) {
	f, err := b.resolve(ctx, target, now)
	if err != nil {
		return Found{}, fmt.Errorf("resolve %s: %w", target, err)
	}
	return f, nil
}

func (b *Book) resolve(ctx context.Context, target string, now time.Time) (Found, error) {
	f := Found{Decision: Resolve(target, nil, nil)}
	switch {
	case f.Kind == Deliver:
		if err := b.Registry.Standing(ctx, address.Instance(target)); err != nil {
			return refused(f, err)
		}
		return b.one(ctx, f, address.Instance(target), now)
	case f.Why != Phantom: // refused by its form
		return f, nil
	}
	there, err := b.Presence.InChannel(ctx, target, now)
	if err != nil {
		return f, err
	}
	gone, err := b.Registry.Tombstones(ctx)
	if err != nil {
		return f, err
	}
	if t, ok := gone[address.Instance(target).Canonical()]; ok { // older programs register agents under a channel
		return refused(f, &registry.GoneError{Asked: address.Instance(target), Who: t.Instance, At: t.At, Reason: t.Reason})
	}
	there = slices.DeleteFunc(there, func(s *presence.Session) bool { return left(gone, s.Instance) })
	var registered []address.Instance
	if slices.ContainsFunc(there, func(s *presence.Session) bool { return s.MirroredAt == "" }) { // the registry changes nothing
		// A session that another bus shows under the label of an agent of this bus does not make a second possible recipient.
		there = slices.DeleteFunc(there, func(s *presence.Session) bool { return s.MirroredAt != "" })
	} else if there, registered, err = b.dormant(ctx, target, there, gone); err != nil {
		return f, err
	}
	live := make([]address.Instance, 0, len(there))
	for _, s := range there {
		live = append(live, s.Instance)
		if s.Instance.Canonical() == address.Instance(target).Canonical() {
			f.Live++
		}
	}
	f.Decision = Resolve(target, live, registered)
	return f, nil
}

// dormant returns the agents registered under a channel where none is live here, and which of the sessions that another bus
// shows count: if agents are registered here, only those of the same agents. The label is theirs, also while they are away.
func (b *Book) dormant(ctx context.Context, channel string, shown []*presence.Session, gone map[address.Instance]registry.Tombstone) ([]*presence.Session, []address.Instance, error) {
	own, mirrored, err := b.Registry.Under(ctx, channel)
	if err != nil {
		return nil, nil, err
	}
	own = slices.DeleteFunc(own, func(i address.Instance) bool { return left(gone, i) })
	if len(own) == 0 {
		return shown, slices.DeleteFunc(mirrored, func(i address.Instance) bool { return left(gone, i) }), nil
	}
	return slices.DeleteFunc(shown, func(s *presence.Session) bool {
		return !slices.ContainsFunc(own, func(i address.Instance) bool { return i.Canonical() == s.Instance.Canonical() })
	}), own, nil
}

// left tells whether an instance, or the parent whose subagent it is, is among those that were offboarded.
func left(gone map[address.Instance]registry.Tombstone, i address.Instance) bool {
	if len(gone) == 0 {
		return false
	}
	parent, _, _ := strings.Cut(string(i.Canonical()), "~")
	_, itself := gone[i.Canonical()]
	_, above := gone[address.Instance(parent)]
	return itself || above
}

// refused is the answer for a retired agent.
func refused(f Found, err error) (Found, error) {
	gone, ok := errors.AsType[*registry.GoneError](err)
	if !ok {
		return f, err
	}
	f.Decision = Decision{Kind: Refuse, Why: Gone, Reason: gone.Error(), Hint: gone.Hint()}
	return f, nil
}

// one looks a single mailbox up.
func (b *Book) one(ctx context.Context, f Found, i address.Instance, now time.Time) (Found, error) {
	there, err := b.Presence.Of(ctx, i, now)
	if err != nil {
		return f, err
	}
	f.Live = len(there)
	if slices.ContainsFunc(there, func(s *presence.Session) bool { return s.MirroredAt == "" }) {
		return f, nil
	}
	reg, known, err := b.registered(ctx, i)
	f.Unknown = !known && f.Live == 0
	switch {
	case reg != nil && (reg.Away() != "" || reg.Mirrored()):
		f.Away = &Away{URL: reg.Away(), Mirrored: reg.Mirrored()}
	case f.Live > 0 && reg == nil:
		f.Away = &Away{Mirrored: true}
	}
	return f, err
}

// registered returns the registration that has the id, and whether there is one. A subagent is known by its parent: it is
// registered only if that was done explicitly.
func (b *Book) registered(ctx context.Context, i address.Instance) (*registry.Registration, bool, error) {
	if parent, _, ok := strings.Cut(string(i), "~"); ok {
		i = address.Instance(parent)
		if !i.Perennial() { // host:label~name is read by the agent that works under the label
			of, err := b.Registry.Channel(ctx, parent)
			return nil, len(of) > 0, err
		}
	}
	reg, err := b.Registry.ByInstance(ctx, i)
	if errors.Is(err, registry.ErrNotRegistered) {
		return nil, false, nil
	}
	return reg, err == nil, err
}

// A Filter chooses the rows of Discover. The zero value takes all that are live.
type Filter struct {
	Scope      string            // one of the scopes of the session, to the letter
	Name       string            // part of the name, in any case
	Own        address.SessionID // left out
	Registered bool              // also agents that are registered and have no session
}

// A Row is one line of Discover: a live session, or a registration without one, whose SessionID is empty.
type Row struct {
	Instance  address.Instance
	Host      string
	Name      string // empty when none is known
	Scopes    []string
	Age       time.Duration // since the heartbeat, never negative; 0 without a session
	SessionID address.SessionID
	// Session is the whole record, nil without one.
	Session *presence.Session
}

// Discover lists who is there, by host and then by instance; rows of one instance with the latest heartbeat first. Who was
// offboarded is not listed, whatever it says of itself.
func (b *Book) Discover(ctx context.Context, f Filter, now time.Time) ([]Row, error) {
	live, err := b.Presence.Fresh(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	gone, err := b.Registry.Tombstones(ctx)
	if err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	var rows []Row
	seen := map[address.Instance]bool{}
	for _, s := range live {
		if left(gone, s.Instance) {
			continue
		}
		seen[s.Instance.Canonical()] = true
		if s.SessionID == f.Own && f.Own != "" {
			continue
		}
		if r := sessionRow(s, now); f.takes(r) {
			rows = append(rows, r)
		}
	}
	if f.Registered {
		var names map[address.Instance]string
		if b.Names != nil {
			names = b.Names()
		}
		for r, err := range b.Registry.All(ctx) {
			if err != nil {
				if store.IsUnfit(err) {
					continue // a bad line is the doctor's to tell
				}
				return nil, fmt.Errorf("discover: %w", err)
			}
			row, who := registeredRow(r), r.Instance.Canonical()
			if name := names[who]; name != "" {
				row.Name = name
			}
			if !seen[who] && !left(gone, r.Instance) && f.takes(row) {
				seen[who] = true
				rows = append(rows, row)
			}
		}
	}
	slices.SortStableFunc(rows, compareRows)
	return rows, nil
}
