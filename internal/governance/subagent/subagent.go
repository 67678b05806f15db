package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// The states of a subagent.
const (
	Active  = "active"
	Revoked = "revoked"
)

// maxDepth is how many generations of subagents an agent may have: a chain is followed at each look.
const maxDepth = 8

// ErrDeep reports a subagent too far below the agent that it works for.
var ErrDeep = fmt.Errorf("subagents go %d generations deep, and no deeper", maxDepth)

// Agents are the subagents of one bus.
type Agents struct{ Registry *registry.Registry }

// A Row is one subagent with what became of it.
type Row struct {
	registry.Binding
	Status string
}

// A Spawn is what a new subagent is to be.
type Spawn struct {
	Parent       address.Instance
	Name         string
	Capabilities []string
	Bounded      bool // Capabilities are all it has; else it has those of its parent
}

// Spawn binds a new subagent. *RuleError; registry.ErrNotRegistered: there is no such parent; ErrGone: the parent, or a
// subagent of this name, is gone; ErrBound: the name is taken.
func (a *Agents) Spawn(ctx context.Context, s Spawn, now time.Time) (*registry.Binding, error) {
	b := registry.Binding{
		ID: string(s.Parent) + "~" + s.Name, Parent: string(s.Parent), Name: s.Name, CreatedAt: envelope.Stamp(now),
		Capabilities: s.Capabilities, Bounded: s.Bounded,
	}
	if err := a.spawn(ctx, &b); err != nil {
		return nil, fmt.Errorf("spawn a subagent of %s: %w", s.Parent, err)
	}
	note := registry.Audit{Subagent: b.ID, Type: registry.SubRegistered, At: b.CreatedAt}
	return &b, a.Registry.Note(context.WithoutCancel(ctx), note)
}

func (a *Agents) spawn(ctx context.Context, b *registry.Binding) error {
	parent, err := a.parent(ctx, address.Instance(b.Parent), maxDepth)
	if err != nil {
		return err
	}
	if codes := Validate(b, parent); len(codes) > 0 {
		return &RuleError{ID: b.ID, Codes: codes}
	}
	if err := address.Check(b.ID); err != nil {
		return err
	}
	if err := a.Registry.Standing(ctx, address.Instance(b.ID)); err != nil {
		return err
	}
	return a.Registry.Bind(ctx, *b)
}

// parent is who a subagent can be bound to: an agent that is registered, or a subagent that is bound, as if it was registered
// with the capabilities that it has.
func (a *Agents) parent(ctx context.Context, i address.Instance, depth int) (*registry.Registration, error) {
	if depth == 0 {
		return nil, ErrDeep
	}
	reg, err := a.Registry.Get(ctx, string(i))
	if !errors.Is(err, registry.ErrNotRegistered) {
		return reg, err
	}
	b, bound := a.Registry.Bound(ctx, i)
	switch {
	case errors.Is(bound, registry.ErrNotBound):
		return nil, err
	case bound != nil:
		return nil, bound
	}
	above, err := a.parent(ctx, address.Instance(b.Parent), depth-1)
	if err != nil {
		return nil, err
	}
	as := &registry.Registration{ID: b.ID, Instance: i, Roles: []string{registry.Agents}, Scopes: above.Scopes, Capabilities: above.Capabilities}
	if b.Bounded {
		as.Capabilities = b.Capabilities
	}
	return as, nil
}

// List returns the subagents below a parent, oldest first, at any depth; "": all that there are.
func (a *Agents) List(ctx context.Context, parent address.Instance) ([]Row, error) {
	gone, err := a.gone(ctx)
	if err != nil {
		return nil, err
	}
	var all []Row
	for b, err := range a.Registry.Bindings(ctx) {
		if err != nil {
			return nil, err
		}
		if parent != "" && !below(&b, parent) {
			continue
		}
		row := Row{Binding: b, Status: Active}
		if gone.has(address.Instance(b.ID)) {
			row.Status = Revoked
		}
		all = append(all, row)
	}
	return all, nil
}

// below tells whether a subagent is one of a parent, or of a subagent of it. A foreign program may have written a parent that
// the address does not name; it counts as well.
func below(b *registry.Binding, parent address.Instance) bool {
	p := string(parent.Canonical())
	return strings.HasPrefix(address.Canonical(b.ID), p+"~") || address.Canonical(b.Parent) == p ||
		strings.HasPrefix(address.Canonical(b.Parent), p+"~")
}

// ends says who was revoked or offboarded, by their canonical forms.
type ends map[address.Instance]bool

// gone reads it once for many.
func (a *Agents) gone(ctx context.Context) (ends, error) {
	e, err := a.revoked(ctx)
	if err != nil {
		return nil, err
	}
	stones, err := a.Registry.Tombstones(ctx)
	for i := range stones {
		e[i] = true
	}
	return e, err
}

// has tells whether an instance or an ancestor of it is gone.
func (e ends) has(i address.Instance) bool {
	for who := range registry.Ancestry(i.Canonical()) {
		if e[who] {
			return true
		}
	}
	return false
}

// Revoke takes a subagent out of service, and all below it, the lowest first: who is cut off in between has not left one
// behind whose parent is gone. It returns the ids that were revoked now. registry.ErrNotBound; registry.ErrGone: it is
// gone already.
func (a *Agents) Revoke(ctx context.Context, id address.Instance, reason string, now time.Time) ([]string, error) {
	b, err := a.Registry.Bound(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("revoke a subagent: %w", err)
	}
	if err := a.Registry.Standing(ctx, id); err != nil {
		return nil, fmt.Errorf("revoke a subagent: %w", err)
	}
	revoked, err := a.RevokeBelow(ctx, id, reason, now)
	if err != nil {
		return revoked, err
	}
	err = a.Registry.Note(ctx, registry.Audit{Subagent: b.ID, Type: registry.SubRevoked, At: envelope.Stamp(now), Reason: reason})
	if err != nil {
		return revoked, fmt.Errorf("revoke a subagent: %w", err)
	}
	return append(revoked, b.ID), nil
}

// RevokeBelow takes all subagents of a parent out of service, the lowest first, and returns the ids of those that were still
// there.
func (a *Agents) RevokeBelow(ctx context.Context, parent address.Instance, reason string, now time.Time) ([]string, error) {
	all, err := a.List(ctx, parent)
	if err != nil {
		return nil, err
	}
	noted, err := a.revoked(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(x, y Row) int { return strings.Count(y.ID, "~") - strings.Count(x.ID, "~") })
	revoked := []string{}
	for _, row := range all {
		if noted[address.Instance(row.ID).Canonical()] {
			continue
		}
		err := a.Registry.Note(ctx, registry.Audit{Subagent: row.ID, Type: registry.SubRevoked, At: envelope.Stamp(now), Reason: reason})
		switch {
		case errors.Is(err, registry.ErrGone): // another process was faster
		case err != nil:
			return revoked, fmt.Errorf("revoke the subagents of %s: %w", parent, err)
		default:
			revoked = append(revoked, row.ID)
		}
	}
	return revoked, nil
}

// revoked are those of whom a line says so themselves, which existing programs ask for.
func (a *Agents) revoked(ctx context.Context) (ends, error) {
	e := ends{}
	for line, err := range a.Registry.Audits(ctx) {
		if err != nil {
			return nil, err
		}
		if line.Type == registry.SubRevoked {
			e[address.Instance(line.Subagent).Canonical()] = true
		}
	}
	return e, nil
}

// Audit returns what became of one subagent, or with below of all that are below an instance, oldest first.
func (a *Agents) Audit(ctx context.Context, i address.Instance, below bool) ([]registry.Audit, error) {
	var all []registry.Audit
	c := string(i.Canonical())
	for line, err := range a.Registry.Audits(ctx) {
		if err != nil {
			return nil, err
		}
		who := address.Canonical(line.Subagent)
		if who == c && !below || below && strings.HasPrefix(who, c+"~") {
			all = append(all, line)
		}
	}
	return all, nil
}

// May returns the binding of a subagent that mail can be put to. registry.ErrNotBound, registry.ErrGone.
func (a *Agents) May(ctx context.Context, id address.Instance) (*registry.Binding, error) {
	b, err := a.Registry.Bound(ctx, id)
	if err != nil {
		return nil, err
	}
	return b, a.Registry.Standing(ctx, id)
}

// Routed records that an envelope was put into a mailbox of a subagent, which is inbox or outbox.
func (a *Agents) Routed(ctx context.Context, id address.Instance, envelopeID, mailbox string, now time.Time) error {
	return a.Registry.Note(ctx, registry.Audit{Subagent: string(id), Type: registry.SubRouted, At: envelope.Stamp(now), Envelope: envelopeID, Mailbox: mailbox})
}
