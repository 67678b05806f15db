package agreement

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/address"
	"tutti/internal/declaration"
	"tutti/internal/escalation"
	"tutti/internal/negotiation"
	"tutti/internal/registry"
)

// A router finds out anew whom matters are for: what an entry says of that was written by who escalates. It remembers what it has read
// and is for one look.
type router struct {
	b       *Bus
	records map[string]*negotiation.Record     // by negotiation; nil: its terms are not known
	plans   map[string][]negotiation.Agreement // by scope
}

// route is by the plan that held when the matter was raised, so that one that is agreed on later makes nobody's answer undone. Without a
// way in a plan it is for the PRINCIPAL whom the entry names if that is one, else for the one who is found.
func (r *router) route(ctx context.Context, m *escalation.Matter) (to declaration.Destination, known bool, err error) {
	rec, err := r.record(ctx, m.Negotiation)
	if err != nil || rec == nil || !slices.Contains(declaration.Channels, m.Channel) {
		return to, false, err
	}
	plan, err := r.plan(ctx, rec.Scope, m.At)
	if err != nil {
		return to, false, err
	}
	q := declaration.Request{Scope: rec.Scope, Channel: m.Channel, Trigger: m.Trigger, Domain: m.Domain}
	to = declaration.Escalate(declaration.RoutesOf(plan), q, "")
	if to.OK {
		return to, true, nil
	}
	fallback := m.Target
	if is, err := r.b.isPrincipal(ctx, rec, address.Instance(fallback)); err != nil {
		return to, false, err
	} else if !is {
		if fallback, err = r.b.principal(ctx, rec); err != nil {
			return to, false, err
		}
	}
	return declaration.Escalate(nil, q, fallback), true, nil
}

func (r *router) record(ctx context.Context, id string) (*negotiation.Record, error) {
	rec, read := r.records[id]
	if read {
		return rec, nil
	}
	s, err := r.b.Negotiations().Status(ctx, id, time.Time{})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		rec = s.Record
	}
	if r.records == nil {
		r.records = map[string]*negotiation.Record{}
	}
	r.records[id] = rec
	return rec, nil
}

// plan is the enforcement plan that held for a scope at a time, nil for none. What says no time of itself has always held.
func (r *router) plan(ctx context.Context, scope string, at time.Time) ([]byte, error) {
	all, read := r.plans[scope]
	if !read {
		var err error
		if all, err = r.b.Negotiations().AllAgreed(ctx, planKind, scope, time.Time{}); err != nil {
			return nil, err
		}
		if r.plans == nil {
			r.plans = map[string][]negotiation.Agreement{}
		}
		r.plans[scope] = all
	}
	for _, p := range all {
		if !p.At.After(at) {
			return p.Artifact, nil
		}
	}
	return nil, nil
}

// planKind is the kind of artifact that says to whom matters go.
const planKind = "ENFORCEMENT_PLAN"

// isPrincipal tells whether somebody is registered as PRINCIPAL and has to do with a negotiation: as a party, or by its scope.
func (b *Bus) isPrincipal(ctx context.Context, r *negotiation.Record, who address.Instance) (bool, error) {
	if address.Check(string(who)) != nil {
		return false, nil
	}
	reg, err := b.registry.Registered(ctx, who)
	if errors.Is(err, registry.ErrNotRegistered) {
		return false, nil
	}
	if err != nil || !slices.Contains(reg.Roles, registry.Principal) {
		return false, err
	}
	party := slices.ContainsFunc(r.Parties, func(p address.Instance) bool { return p.Canonical() == who.Canonical() })
	if party {
		return true, nil
	}
	_, scopes, err := b.registry.Effective(ctx, who)
	return slices.Contains(scopes, r.Scope), err
}
