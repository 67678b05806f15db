package escalation

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
)

// A Memo remembers what was asked for, for one look. The zero value is ready.
type Memo[K comparable, V any] struct{ known map[K]V }

// maxRemembered bounds that: a journal could name a new one in each entry.
const maxRemembered = 10_000

// Get returns what find has found for a key; an error is not remembered.
func (m *Memo[K, V]) Get(k K, find func() (V, error)) (V, error) {
	v, known := m.known[k]
	if known {
		return v, nil
	}
	v, err := find()
	if err != nil {
		return v, err
	}
	if m.known == nil || len(m.known) >= maxRemembered {
		m.known = map[K]V{}
	}
	m.known[k] = v
	return v, nil
}

// remembered are people of whom each is read once.
type remembered struct {
	people People
	keys   Memo[address.Instance, *registry.Keys]
	roles  Memo[address.Instance, *registry.Registration] // nil: not registered
}

// Keys returns the keys of a person; none for one who is not registered.
func (r *remembered) Keys(ctx context.Context, i address.Instance) (*registry.Keys, error) {
	return r.keys.Get(i, func() (*registry.Keys, error) {
		keys, err := r.people.Keys(ctx, i)
		if errors.Is(err, registry.ErrNotRegistered) {
			return &registry.Keys{}, nil
		}
		return keys, err
	})
}

// Registered is the registration of an agent or person.
func (r *remembered) Registered(ctx context.Context, i address.Instance) (*registry.Registration, error) {
	reg, err := r.roles.Get(i, func() (*registry.Registration, error) {
		reg, err := r.people.Registered(ctx, i)
		if errors.Is(err, registry.ErrNotRegistered) {
			return nil, nil
		}
		return reg, err
	})
	if err == nil && reg == nil {
		err = registry.ErrNotRegistered
	}
	return reg, err
}

// OwnKeys are the keys that are a person's own, as far as is known here: those that a person has said to be, and those that these stand
// behind. What else the registry has for a person anybody may have written there.
func (m *Matters) OwnKeys(ctx context.Context, who address.Instance) ([]registry.OwnKey, error) {
	if m.persons == nil {
		return nil, nil
	}
	return m.held.Get(who.Canonical(), func() ([]registry.OwnKey, error) {
		known := m.persons.Bound(who)
		if len(known) == 0 {
			return nil, nil
		}
		keys, err := m.people.Keys(ctx, who)
		if err != nil {
			return nil, err
		}
		return trust.By(keys, known).Proven, nil
	})
}

// maxTried is how many verifications may be in vain before of each writer only some keys are tried: everybody can add keys to anybody, and write
// what none of them has sealed.
const maxTried = 4096

// tries are the keys of a writer that are tried: all, or the first and the last of them.
func (m *Matters) tries(keys *registry.Keys) journal.Keys {
	const some = 8
	tried := journal.Keys{Active: keys.Active, Revoked: keys.Revoked}
	for _, keys := range []*[]signature.Public{&tried.Active, &tried.Revoked} {
		if n := len(*keys) - some; m.tried >= maxTried && n > some {
			*keys = slices.Concat((*keys)[:some], (*keys)[n:])
		}
	}
	return tried
}

// sealed returns which of a person's own keys has sealed something with a hash. A revoked key seals what its revocation names,
// which was there before it; any other time is a claim of the key's current holder.
func (m *Matters) sealed(ctx context.Context, who address.Instance, hash string, by func(signature.Public) bool) (key signature.Public, ok bool, err error) {
	held, err := m.OwnKeys(ctx, who)
	for _, h := range held {
		if (!h.Revoked || hash != "" && slices.Contains(h.Before, hash)) && by(h.Key) {
			return h.Key, true, nil
		}
	}
	return key, false, err
}

// Sealed are the hashes of the answers that a person has given under a key, the newest first, which a revocation of that key
// names. Others may know the person by it, so it does not matter whether it is confirmed here. Read errors are returned in
// problems, so hashes may be missing.
func (m *Matters) Sealed(ctx context.Context, who address.Instance, key signature.Public) (hashes []string, problems []error) {
	known := *m
	known.held = Memo[address.Instance, []registry.OwnKey]{}
	known.persons = also{m.persons, who.Canonical(), key}
	if m.persons != nil && m.persons.Err() != nil {
		problems = append(problems, m.persons.Err())
	}
	names, err := m.journals(ctx)
	if n := len(names) - maxJournals; n > 0 {
		problems = append(problems, &MoreError{Left: n, What: "journals"})
		names = names[:maxJournals]
	}
	if err != nil {
		problems = append(problems, err)
	}
	var all []*Escalation
	for _, name := range names {
		found, notes, err := known.in(ctx, name)
		for _, note := range notes {
			if _, more := errors.AsType[*MoreError](note); more { // the others are not matters
				problems = append(problems, note)
			}
		}
		if err != nil {
			problems = append(problems, err)
		}
		if all = append(all, found...); ctx.Err() != nil {
			return nil, problems
		}
	}
	alerts, bad, err := known.alerts(ctx)
	if err != nil {
		bad = append(bad, err)
	}
	all, problems = append(all, alerts...), append(problems, bad...)
	var given []*Answer
	for _, one := range all {
		if a := one.Answer; a != nil && a.Key == key && a.Hash != "" && a.By.Canonical() == who.Canonical() {
			given = append(given, a)
		}
	}
	slices.SortStableFunc(given, func(a, b *Answer) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Hash, b.Hash)) })
	for _, a := range given {
		hashes = append(hashes, a.Hash)
	}
	return hashes, problems
}

// also are persons of whom one is known by one more key.
type also struct {
	Persons
	who address.Instance
	key signature.Public
}

// Bound are the keys that a person is known by.
func (p also) Bound(i address.Instance) (all []signature.Public) {
	if p.Persons != nil {
		all = p.Persons.Bound(i)
	}
	if i.Canonical() == p.who && !slices.Contains(all, p.key) {
		all = append(slices.Clip(all), p.key)
	}
	return all
}
