package agreement

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// A router finds the receivers of matters anew: the entry itself was written by the agent that escalates. It remembers what it
// has read and is for one look.
type router struct {
	b       *Bus
	records escalation.Memo[string, *negotiation.Record]     // by negotiation; nil: its terms are not known
	plans   escalation.Memo[string, []negotiation.Agreement] // by scope
	heads   escalation.Memo[string, string]                  // the PRINCIPAL of a negotiation where none is named
	are     escalation.Memo[head, bool]
	chiefs  escalation.Memo[string, []registry.Effective] // all who hold a role
}

// A head is a candidate for the PRINCIPAL of a negotiation.
type head struct {
	of  string
	who address.Instance
}

// route is by the plan that held when the matter was raised, so that one that is agreed on later invalidates no answer. Without
// a way in a plan it is for the PRINCIPAL that the entry names if that is one, else for the one that is found.
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
	return r.chiefs.Get(registry.Principal, func() ([]registry.Effective, error) { return r.b.principals(ctx) })
}

// principal is that of Bus, found once for a negotiation.
func (r *router) principal(ctx context.Context, id string, rec *negotiation.Record) (string, error) {
	return r.heads.Get(id, func() (string, error) { return r.b.principal(ctx, rec, r.principals) })
}

func (r *router) isPrincipal(ctx context.Context, id string, rec *negotiation.Record, who address.Instance) (bool, error) {
	return r.are.Get(head{id, who}, func() (bool, error) { return r.b.isPrincipal(ctx, rec, who) })
}

func (r *router) record(ctx context.Context, id string) (*negotiation.Record, error) {
	return r.records.Get(id, func() (*negotiation.Record, error) {
		s, err := r.b.Negotiations().Status(ctx, id, time.Time{})
		if err != nil {
			return nil, ctx.Err()
		}
		return s.Record, nil
	})
}

// plan is the enforcement plan that held for a scope at a time, nil for none. What says no time of itself has always held.
func (r *router) plan(ctx context.Context, scope string, at time.Time) ([]byte, error) {
	all, err := r.plans.Get(scope, func() ([]negotiation.Agreement, error) {
		return r.b.Negotiations().AllAgreed(ctx, planKind, scope, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if !p.At.After(at) {
			return p.Artifact, nil
		}
	}
	return nil, nil
}

// planKind is the kind of artifact that routes matters.
const planKind = "ENFORCEMENT_PLAN"

// isPrincipal tells whether a person is PRINCIPAL and has to do with a negotiation: as a party, or by its scope.
func (b *Bus) isPrincipal(ctx context.Context, r *negotiation.Record, who address.Instance) (bool, error) {
	if address.Check(string(who)) != nil || who.Canonical().Host() != identity.Human {
		return false, nil
	}
	reg, err := b.registry.Registered(ctx, who)
	if errors.Is(err, registry.ErrNotRegistered) {
		return false, nil
	}
	if err != nil || !b.has(who, reg, registry.Principal) {
		return false, err
	}
	party := slices.ContainsFunc(r.Parties, func(p address.Instance) bool { return p.Canonical() == who.Canonical() })
	if party {
		return true, nil
	}
	_, scopes, err := b.registry.Effective(ctx, who)
	return slices.Contains(scopes, r.Scope), err
}
