package agreement

import (
	"context"
	"fmt"
	"slices"

	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
)

// maxTold is how many receivers are notified of a matter for a role.
const maxTold = 16

// Escalation returns one matter of a negotiation.
func (b *Bus) Escalation(ctx context.Context, negotiation, id string) (*escalation.Escalation, error) {
	all, err := b.Matters().In(ctx, negotiation)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.ID == id {
			return m, nil
		}
	}
	return nil, fmt.Errorf("escalation %s: %w", id, escalation.ErrNone)
}

// Recipients are the receivers of a matter: the named one, or the first of those registered with its role that have to do with
// its scope. The agent that raised it is not among them. Of those with a role only persons are notified, because they can
// answer.
func (b *Bus) Recipients(ctx context.Context, m *escalation.Escalation) (all []address.Instance, err error) {
	role := m.Role()
	if role == "" {
		who := address.Instance(m.Target)
		if address.Check(m.Target) != nil || who.Canonical() == m.By.Canonical() {
			return nil, nil
		}
		return []address.Instance{who}, nil
	}
	for e, err := range b.registry.Everybody(ctx) {
		if err != nil {
			return nil, err
		}
		if len(all) == maxTold {
			break
		}
		if e.Instance.Canonical().Host() == identity.Human && slices.Contains(e.Roles, role) && slices.Contains(e.Scopes, m.Scope) && e.Instance.Canonical() != m.By.Canonical() {
			all = append(all, e.Instance)
		}
	}
	return all, nil
}
