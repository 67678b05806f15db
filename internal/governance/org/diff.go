package org

import (
	"iter"
	"slices"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
)

// A Standing is how one instance stands in a manifest and on a bus.
type Standing struct {
	Instance         address.Instance `json:"instance"`
	DeclaredRole     string           `json:"declaredRole,omitempty"`    // absent: not declared
	RegisteredRoles  []string         `json:"registeredRoles,omitzero"`  // absent: not registered
	DeclaredScopes   []string         `json:"declaredScopes,omitzero"`   // absent: not declared
	RegisteredScopes []string         `json:"registeredScopes,omitzero"` // absent: not registered
	MissingScopes    []string         `json:"missingScopes,omitzero"`    // declared, and neither registered nor granted
}

// A Diff compares a manifest with a bus. A member is matched, or missing, or in one of the other two lists of those that are
// declared, or in both of them.
type Diff struct {
	Scope        string     `json:"scope"`
	Matched      []Standing `json:"matched"`
	Missing      []Standing `json:"missing"`    // declared, not registered
	Undeclared   []Standing `json:"undeclared"` // registered, not declared
	RoleMismatch []Standing `json:"roleMismatch"`
	ScopeGaps    []Standing `json:"scopeGaps"`
}

// A DiffView is a comparison as existing programs read it.
type DiffView struct {
	Diff
	InSync bool `json:"inSync"` // the bus is what the manifest says
}

// View returns the comparison for programs.
func (d *Diff) View() DiffView {
	v := DiffView{*d, d.InSync()}
	for _, list := range []*[]Standing{&v.Matched, &v.Missing, &v.Undeclared, &v.RoleMismatch, &v.ScopeGaps} {
		*list = render.List(*list)
	}
	return v
}

// InSync tells whether the bus is what the manifest says.
func (d *Diff) InSync() bool {
	return len(d.Missing)+len(d.Undeclared)+len(d.RoleMismatch)+len(d.ScopeGaps) == 0
}

// Compare compares a manifest with all who are registered. The lists are in the order of the manifest, those that it does not
// declare in the order of the registry.
func Compare(o *Org, everybody iter.Seq2[registry.Effective, error]) (*Diff, error) {
	d := &Diff{Scope: o.Scope}
	declared := make(map[address.Instance]int, len(o.Members))
	for n := range o.Members {
		if c := o.Members[n].Instance.Canonical(); declared[c] == 0 {
			declared[c] = n + 1
		}
	}
	found := make([]*registry.Effective, len(o.Members))
	for who, err := range everybody {
		if err != nil {
			return nil, err
		}
		if n := declared[who.Instance.Canonical()]; n > 0 {
			found[n-1] = &who
			continue
		}
		d.Undeclared = append(d.Undeclared, Standing{Instance: who.Instance, RegisteredRoles: who.Roles, RegisteredScopes: who.Scopes})
	}
	for n := range o.Members {
		m := &o.Members[n]
		if declared[m.Instance.Canonical()] == n+1 { // a double is not a second member
			d.stand(m, found[n])
		}
	}
	return d, nil
}

func (d *Diff) stand(m *Member, who *registry.Effective) {
	s := Standing{Instance: m.Instance, DeclaredRole: m.Role, DeclaredScopes: m.Scopes}
	if who == nil {
		d.Missing = append(d.Missing, s)
		return
	}
	s.RegisteredRoles, s.RegisteredScopes = who.Roles, who.Scopes
	for _, scope := range m.Scopes {
		if !slices.Contains(who.Scopes, scope) && !slices.Contains(s.MissingScopes, scope) {
			s.MissingScopes = append(s.MissingScopes, scope)
		}
	}
	role := slices.Contains(who.Roles, m.Role)
	if !role {
		d.RoleMismatch = append(d.RoleMismatch, s)
	}
	if len(s.MissingScopes) > 0 {
		d.ScopeGaps = append(d.ScopeGaps, s)
	}
	if role && len(s.MissingScopes) == 0 {
		d.Matched = append(d.Matched, s)
	}
}
