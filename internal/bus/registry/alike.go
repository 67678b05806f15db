package registry

import (
	"context"

	"tutti/internal/core/address"
)

// An Alike is a registration that can be mistaken for another one.
type Alike struct {
	Instance address.Instance // as it is spelled
	Like     address.Instance // the one that it looks like; "" when the name alone is odd
}

// LookAlikes returns the registrations whose names are not well-formed, and those that look like an earlier one. What cannot be
// read is left out.
func (r *Registry) LookAlikes(ctx context.Context) (all []Alike) {
	var ever []address.Instance
	first := map[string]address.Instance{} // the first by what it looks like
	for reg, err := range r.Ever(ctx) {
		if err != nil {
			continue
		}
		ever = append(ever, reg.Instance)
		skeleton := address.Skeleton(string(reg.Instance))
		if _, taken := first[skeleton]; !taken && address.WellFormed(string(reg.Instance)) {
			first[skeleton] = reg.Instance.Canonical()
		}
	}
	seen := map[address.Instance]bool{}
	for _, i := range ever {
		like, who := first[address.Skeleton(string(i))], i.Canonical()
		if seen[i] || like == who && address.WellFormed(string(i)) {
			continue
		}
		seen[i] = true
		all = append(all, Alike{i, like})
	}
	return all
}
