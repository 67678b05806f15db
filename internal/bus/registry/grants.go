package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A Grant gives an instance a role and a scope beside those of its registration.
type Grant struct {
	Instance address.Instance
	Role     string
	Scope    string
	By       string // who gave it; empty where the line does not say
	At       string
	// Withdraws makes it the opposite: earlier grants of that role and scope are taken back, an empty one standing for any.
	Withdraws bool
}

func parseGrant(raw []byte) (Grant, error) {
	var v [6][]byte
	if !canonjson.Pick(raw, []string{"instance", "role", "scope", "by", "at", "withdraws"}, v[:]) {
		return Grant{}, errors.New("is not a JSON object")
	}
	g := Grant{Instance: address.Instance(text(v[0])), Role: text(v[1]), Scope: text(v[2]), By: text(v[3]), At: text(v[4])}
	if g.Instance == "" {
		return g, errors.New("lacks its instance")
	}
	var w [2][]byte
	if g.Withdraws = canonjson.Pick(v[5], []string{"role", "scope"}, w[:]); g.Withdraws {
		g.Role, g.Scope = text(w[0]), text(w[1])
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

// Grants returns what an instance in any spelling was granted, and what was withdrawn, oldest first.
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
// once. Who may sign what is asked of the registration alone. An instance that was offboarded has neither.
func (r *Registry) Effective(ctx context.Context, i address.Instance) (roles, scopes []string, err error) {
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Standing(ctx, reg.Instance); errors.Is(err, ErrGone) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	given, err := r.Grants(ctx, reg.Instance)
	if err != nil {
		return nil, nil, err
	}
	roles, scopes = effective(reg, given)
	return roles, scopes, nil
}

func with(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// An Effective is an instance with the roles and scopes by which it is found: those of its registration, then those granted.
type Effective struct {
	Instance      address.Instance
	Roles, Scopes []string
}

// Everybody yields all who are registered, each instance once, by its first registration, as Effective has them. It reads each
// log once, and skips bad lines, which Problems names.
func (r *Registry) Everybody(ctx context.Context) iter.Seq2[Effective, error] {
	return func(yield func(Effective, error) bool) {
		given := map[address.Instance][]Grant{}
		for line, err := range r.log.Read(ctx, grants, "") {
			switch {
			case err == nil:
				if g, err := parseGrant(line.Data); err == nil {
					c := g.Instance.Canonical()
					given[c] = append(given[c], g)
				}
			case !store.IsUnfit(err):
				yield(Effective{}, fmt.Errorf("read all grants: %w", err))
				return
			}
		}
		seen := map[address.Instance]bool{}
		for reg, err := range r.All(ctx) {
			if err != nil {
				if store.IsUnfit(err) {
					continue
				}
				yield(Effective{}, err)
				return
			}
			c := reg.Instance.Canonical()
			if seen[c] {
				continue
			}
			seen[c] = true
			e := Effective{Instance: reg.Instance}
			if e.Roles, e.Scopes = effective(reg, given[c]); !yield(e, nil) {
				return
			}
		}
	}
}

// GrantMissing grants an instance what it lacks of a role and scopes: all of the scopes where it lacks the role, else those that
// it lacks. It returns the scopes that it wrote, none when nothing was lacking. Others that grant at the same time are seen: what
// they wrote first is not written again. ErrNotRegistered: only who is registered can be granted anything.
func (r *Registry) GrantMissing(ctx context.Context, i address.Instance, role string, scopes []string, by string, now time.Time) (given []string, err error) {
	for range maxTries {
		var end store.Pos
		if end, err = store.EndOf(ctx, r.log, grants); err != nil {
			break
		}
		var reg *Registration
		var lacks []string
		if reg, lacks, err = r.lacks(ctx, i, role, scopes); err != nil {
			break
		}
		for _, scope := range lacks {
			line := grantLine(Grant{Instance: reg.Instance, Role: role, Scope: scope, By: by, At: envelope.Stamp(now)})
			if end, err = r.log.Append(ctx, grants, end, line); err != nil {
				break
			}
			given = append(given, scope)
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("grant %q the role %s: %w", i, role, err)
	}
	return given, err
}

// lacks returns the scopes that have to be granted with a role.
func (r *Registry) lacks(ctx context.Context, i address.Instance, role string, scopes []string) (*Registration, []string, error) {
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return nil, nil, err
	}
	granted, err := r.Grants(ctx, reg.Instance)
	if err != nil {
		return nil, nil, err
	}
	roles, has := effective(reg, granted)
	var lacks []string
	for _, scope := range scopes {
		if !slices.Contains(roles, role) || !slices.Contains(has, scope) {
			lacks = with(lacks, scope)
		}
	}
	return reg, lacks, nil
}

// Withdraw takes back what an instance was granted of a role and a scope; an empty one stands for any. It returns the grants that
// are gone, none when there were none, and then writes nothing. What the registration itself says stays. Programs that do not know
// of this go on with the grants.
func (r *Registry) Withdraw(ctx context.Context, i address.Instance, role, scope, by string, now time.Time) (gone []Grant, err error) {
	err = r.add(ctx, grants, func() ([]byte, error) {
		granted, err := r.Grants(ctx, i)
		if err != nil {
			return nil, err
		}
		w := Grant{Instance: i, Withdraws: true, Role: role, Scope: scope, By: by, At: envelope.Stamp(now)}
		gone = nil
		for _, g := range standing(granted) {
			if w.takes(&g) {
				gone = append(gone, g)
			}
		}
		if len(gone) == 0 {
			return nil, errNothing
		}
		return grantLine(w), nil
	})
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw grants of %q: %w", i, err)
	}
	return gone, nil
}

// errNothing ends an addition for which there is no need.
var errNothing = errors.New("nothing is to be done")

// takes tells whether a line that withdraws is about a grant.
func (g *Grant) takes(other *Grant) bool {
	return g.Withdraws && (g.Role == "" || g.Role == other.Role) && (g.Scope == "" || g.Scope == other.Scope)
}

// standing are the grants that were not withdrawn after they were given.
func standing(all []Grant) []Grant {
	var left []Grant
	for i := range all {
		if !all[i].Withdraws {
			left = append(left, all[i])
			continue
		}
		left = slices.DeleteFunc(left, func(g Grant) bool { return all[i].takes(&g) })
	}
	return left
}

// effective returns the roles and scopes of a registration and of the grants that stand.
func effective(reg *Registration, given []Grant) (roles, scopes []string) {
	roles, scopes = slices.Clip(reg.Roles), slices.Clip(reg.Scopes)
	for _, g := range standing(given) {
		roles, scopes = with(roles, g.Role), with(scopes, g.Scope)
	}
	return roles, scopes
}

// grantLine writes a line of the log. To programs that know of grants only, one that withdraws grants nothing: no role and no scope.
func grantLine(g Grant) []byte {
	var o canonjson.Object
	o.Str("instance", string(g.Instance))
	if g.Withdraws {
		o.Str("role", "")
		o.Str("scope", "")
		o.Within("withdraws", func(o *canonjson.Object) {
			o.Opt("role", g.Role)
			o.Opt("scope", g.Scope)
		})
	} else {
		o.Str("role", g.Role)
		o.Str("scope", g.Scope)
	}
	o.Opt("by", g.By)
	o.Str("at", g.At)
	return o.Bytes()
}
