package escalation

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/address"
	"tutti/internal/registry"
	"tutti/internal/signature"
)

// remembered are people of whom each is read once.
type remembered struct {
	people People
	known  map[address.Instance]*registry.Keys
	roles  map[address.Instance]*registry.Registration // nil: not registered
}

// maxRemembered bounds that: a journal could name a new one in each entry.
const maxRemembered = 10_000

// Keys are those of somebody, none of who is not registered.
func (r *remembered) Keys(ctx context.Context, i address.Instance) (*registry.Keys, error) {
	keys, known := r.known[i]
	if known {
		return keys, nil
	}
	keys, err := r.people.Keys(ctx, i)
	if errors.Is(err, registry.ErrNotRegistered) {
		keys, err = &registry.Keys{}, nil
	}
	if err != nil {
		return nil, err
	}
	if r.known == nil || len(r.known) >= maxRemembered {
		r.known = map[address.Instance]*registry.Keys{}
	}
	r.known[i] = keys
	return keys, nil
}

// Registered is the registration of somebody.
func (r *remembered) Registered(ctx context.Context, i address.Instance) (*registry.Registration, error) {
	reg, known := r.roles[i]
	if !known {
		var err error
		if reg, err = r.people.Registered(ctx, i); err != nil && !errors.Is(err, registry.ErrNotRegistered) {
			return nil, err
		}
		if r.roles == nil || len(r.roles) >= maxRemembered {
			r.roles = map[address.Instance]*registry.Registration{}
		}
		r.roles[i] = reg
	}
	if reg == nil {
		return nil, registry.ErrNotRegistered
	}
	return reg, nil
}

func (m *Matters) keys(ctx context.Context, i address.Instance) (*registry.Keys, error) {
	return m.people.Keys(ctx, i)
}

// Held are the keys that are a person's own, as far as is known here: those that a person has said to be, and those that these stand
// behind. What else the registry has for a person anybody may have written there.
func (m *Matters) Held(ctx context.Context, who address.Instance) ([]registry.Held, error) {
	if m.persons == nil {
		return nil, nil
	}
	known := m.persons.Bound(who)
	if len(known) == 0 {
		return nil, nil
	}
	keys, err := m.keys(ctx, who)
	if err != nil {
		return nil, err
	}
	return keys.Held(known), nil
}

// sealed tells under which of a person's own keys something is sealed that has a hash. A key that was revoked seals what its revocation
// names, which was there before it; whatever else says about its own time is a claim of who has the key by now.
func (m *Matters) sealed(ctx context.Context, who address.Instance, hash string, by func(signature.Public) bool) (key signature.Public, ok bool, err error) {
	held, err := m.Held(ctx, who)
	for _, h := range held {
		if (!h.Revoked || hash != "" && slices.Contains(h.Before, hash)) && by(h.Key) {
			return h.Key, true, nil
		}
	}
	return key, false, err
}

// Sealed are the hashes of the answers that a person has given under a key, the newest first, which a revocation of that key names.
func (m *Matters) Sealed(ctx context.Context, who address.Instance, key signature.Public) (hashes []string, err error) {
	all, _, err := m.All(ctx)
	for _, one := range slices.Backward(all) {
		if a := one.Answer; a != nil && a.Key == key && a.Hash != "" && a.By.Canonical() == who.Canonical() {
			hashes = append(hashes, a.Hash)
		}
	}
	return hashes, err
}
