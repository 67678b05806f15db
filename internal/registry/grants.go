package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/store"
)

// A Grant gives an instance a role and a scope beside those of its registration.
type Grant struct {
	Instance address.Instance
	Role     string
	Scope    string
	By       string // who gave it; empty where the line does not say
	At       string
}

func parseGrant(raw []byte) (Grant, error) {
	var v [5][]byte
	if !canonjson.Pick(raw, []string{"instance", "role", "scope", "by", "at"}, v[:]) {
		return Grant{}, errors.New("is no JSON object")
	}
	g := Grant{Instance: address.Instance(text(v[0])), Role: text(v[1]), Scope: text(v[2]), By: text(v[3]), At: text(v[4])}
	if g.Instance == "" {
		return g, errors.New("lacks its instance")
	}
	return g, nil
}

// grantRows makes the rows of the membership log.
var grantRows = &store.Projection{
	Name: "grants", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		g, err := parseGrant(line)
		if err != nil {
			return nil, 0, nil, err
		}
		return []string{byInstance + string(g.Instance.Canonical())}, 0, nil, nil
	},
}

// Grants returns what an instance in any spelling was granted, oldest first.
func (r *Registry) Grants(ctx context.Context, i address.Instance) ([]Grant, error) {
	var all []Grant
	for line, err := range store.FindIn(ctx, r.log, grants, grantRows, byInstance+string(i.Canonical())) {
		if err != nil {
			return nil, fmt.Errorf("look up the grants of %q: %w", i, err)
		}
		if g, err := parseGrant(line.Data); err == nil {
			all = append(all, g)
		}
	}
	return all, nil
}

// Effective returns the roles and scopes of an instance for finding it: those of its registration, then those granted, each
// once. Who may sign what is asked of the registration alone.
func (r *Registry) Effective(ctx context.Context, i address.Instance) (roles, scopes []string, err error) {
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return nil, nil, err
	}
	given, err := r.Grants(ctx, reg.Instance)
	if err != nil {
		return nil, nil, err
	}
	roles, scopes = reg.Roles, reg.Scopes
	for _, g := range given {
		roles, scopes = with(roles, g.Role), with(scopes, g.Scope)
	}
	return roles, scopes, nil
}

func with(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
