package agreement

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// A router finds out anew whom matters are for: what an entry says of that was written by who escalates. It remembers what it has read
// and is for one look.
type router struct {
	b       *Bus
	records map[string]*negotiation.Record     // by negotiation; nil: its terms are not known
	plans   map[string][]negotiation.Agreement // by scope
	heads   map[string]string                  // the PRINCIPAL of a negotiation where none is named
	are     map[head]bool
	chiefs  []registry.Effective // all who are PRINCIPAL, if looked
	looked  bool
}

// A head is somebody who may be the PRINCIPAL of a negotiation.
type head struct {
	of  string
	who address.Instance
}

// maxHeads is how many are remembered: every matter may name another one.
const maxHeads = 10_000

// route is by the plan that held when the matter was raised, so that one that is agreed on later makes nobody's answer undone. Without a
// way in a plan it is for the PRINCIPAL whom the entry names if that is one, else for the one who is found.
func (r *router) route(ctx context.Context, m *escalation.Escalation) (to declaration.Destination, known bool, err error) {
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
	if is, err := r.isPrincipal(ctx, m.Negotiation, rec, address.Instance(fallback)); err != nil {
		return to, false, err
	} else if !is {
		if fallback, err = r.principal(ctx, m.Negotiation, rec); err != nil {
			return to, false, err
		}
	}
	return declaration.Escalate(nil, q, fallback), true, nil
}

// principals are those of Bus, looked for once: everybody who is registered has to be read.
func (r *router) principals(ctx context.Context) ([]registry.Effective, error) {
	if !r.looked {
		all, err := r.b.principals(ctx)
		if err != nil {
			return nil, err
		}
		r.chiefs, r.looked = all, true
	}
	return r.chiefs, nil
}

// principal is that of Bus, found once for a negotiation.
func (r *router) principal(ctx context.Context, id string, rec *negotiation.Record) (string, error) {
	who, found := r.heads[id]
	if found {
		return who, nil
	}
	who, err := r.b.principal(ctx, rec, r.principals)
	if err != nil {
		return "", err
	}
	if r.heads == nil {
		r.heads = map[string]string{}
	}
	r.heads[id] = who
	return who, nil
}

func (r *router) isPrincipal(ctx context.Context, id string, rec *negotiation.Record, who address.Instance) (bool, error) {
	h := head{id, who}
	is, found := r.are[h]
	if found {
		return is, nil
	}
	is, err := r.b.isPrincipal(ctx, rec, who)
	if err != nil {
		return false, err
	}
	if r.are == nil || len(r.are) >= maxHeads {
		r.are = map[head]bool{}
	}
	r.are[h] = is
	return is, nil
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
