package registry

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A seeker looks for several keys in one go: see filestore.Store.FindEach.
type seeker interface {
	FindEach(ctx context.Context, log store.Key, p *store.Projection, keys []string, see func(key string, l store.Line) bool) error
}

// Roles returns the roles with which instances are registered, by their canonical forms: of each by the registration that
// ByInstance returns. Who is not registered is left out. A store that looks for several at a time is asked once.
func (r *Registry) Roles(ctx context.Context, all []address.Instance) (map[address.Instance][]string, error) {
	roles := make(map[address.Instance][]string, len(all))
	s, ok := r.log.(seeker)
	if !ok {
		for _, i := range all {
			reg, err := r.ByInstance(ctx, i)
			switch {
			case err == nil:
				roles[i.Canonical()] = reg.Roles
			case !errors.Is(err, ErrNotRegistered) && !store.IsUnfit(err):
				return nil, err
			}
		}
		return roles, nil
	}
	keys := make([]string, 0, len(all))
	seen := map[string]bool{}
	for _, i := range all {
		if key := byInstance + string(i.Canonical()); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	shown := map[address.Instance]bool{} // only mirrored, as far as is seen
	err := s.FindEach(ctx, instances, registrations, keys, func(key string, l store.Line) bool {
		who := address.Instance(key[len(byInstance):])
		if _, known := roles[who]; known && !shown[who] {
			return true
		}
		if reg, err := Parse(l.Data); err == nil && (!reg.Mirrored() || !shown[who]) {
			roles[who], shown[who] = reg.Roles, reg.Mirrored()
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("look up roles: %w", err)
	}
	return roles, nil
}
