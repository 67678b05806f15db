package registry

import (
	"context"
	"fmt"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Roles returns the roles with which instances are registered, by their canonical forms: of each by the registration that
// ByInstance returns. Who is not registered is left out.
func (r *Registry) Roles(ctx context.Context, all []address.Instance) (map[address.Instance][]string, error) {
	wanted := make(map[address.Instance]bool, len(all))
	for _, i := range all {
		wanted[i.Canonical()] = true
	}
	roles := make(map[address.Instance][]string, len(all))
	shown := map[address.Instance]bool{} // only mirrored, as far as is seen
	var failed error
	r.lines(ctx, func(_ store.Line, reg *Registration, err error) bool {
		if err != nil {
			if !store.IsUnfit(err) {
				failed = fmt.Errorf("look up roles: %w", err)
			}
			return true
		}
		who := reg.Instance.Canonical()
		_, known := roles[who]
		if wanted[who] && (!known || shown[who] && !reg.Mirrored()) {
			roles[who], shown[who] = reg.Roles, reg.Mirrored()
		}
		return true
	})
	return roles, failed
}
