package org

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
)

// A Granter gives an instance what it lacks of a role and scopes, and returns the scopes that it wrote grants for: none when it
// lacked nothing. An instance without a registration is registry.ErrNotRegistered.
type Granter interface {
	GrantMissing(ctx context.Context, i address.Instance, role string, scopes []string, by string, now time.Time) ([]string, error)
}

// NotRegistered is why a member cannot be granted anything yet.
const NotRegistered = "not-registered"

// An Applied is a member that was granted something.
type Applied struct {
	Instance address.Instance `json:"instance"`
	Role     string           `json:"role"`
	Scopes   []string         `json:"grantedScopes"`
}

// A Provisioning says what became of each member.
type Provisioning struct {
	Scope     string
	Applied   []Applied
	Unchanged []address.Instance
	Pending   []address.Instance // not registered: to be tried again when they are
}

// A ProvisioningView is what became of each member, as existing programs read it.
type ProvisioningView struct {
	OK        bool      `json:"ok"`
	Scope     string    `json:"scope"`
	Applied   []Applied `json:"applied"`
	Unchanged []string  `json:"unchanged"`
	Pending   []Pending `json:"pending"`
}

// A Pending is a member that cannot be granted anything yet.
type Pending struct {
	Instance address.Instance `json:"instance"`
	Reason   string           `json:"reason"` // not-registered
}

// Provision grants each member that is registered what the manifest gives it and it lacks. Each grant is judged by what the bus
// holds in that moment, so it can be broken off anywhere and begun again, by several at a time, and writes nothing twice. What was
// done until an error came is returned with it. A manifest with Problems is not carried out.
func Provision(ctx context.Context, to Granter, o *Org, by string, now time.Time) (*Provisioning, error) {
	p := &Provisioning{Scope: o.Scope}
	if codes := o.Problems(); len(codes) > 0 {
		return p, &Refused{Problems: codes}
	}
	for i := range o.Members {
		m := &o.Members[i]
		given, err := to.GrantMissing(ctx, m.Instance, m.Role, m.Scopes, by, now)
		if len(given) > 0 {
			p.Applied = append(p.Applied, Applied{Instance: m.Instance, Role: m.Role, Scopes: given})
		}
		switch {
		case errors.Is(err, registry.ErrNotRegistered):
			p.Pending = append(p.Pending, m.Instance)
		case err != nil:
			return p, fmt.Errorf("grant %q its role: %w", m.Instance, err)
		case len(given) == 0:
			p.Unchanged = append(p.Unchanged, m.Instance)
		}
	}
	return p, nil
}

// View returns the outcome for programs.
func (p *Provisioning) View() ProvisioningView {
	return ProvisioningView{
		true, p.Scope, render.List(p.Applied), address.Texts(p.Unchanged),
		render.Each(p.Pending, func(i address.Instance) Pending { return Pending{i, NotRegistered} }),
	}
}
