package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// registerInstance adds the registration of one's own agent. A connection without an agent may register one.
func registerInstance(ctx context.Context, c *call) (any, error) {
	raw := c.raw("registration")
	reg, err := registry.Parse(raw)
	if err != nil {
		return nil, c.refuse("", "%s", err)
	}
	who := reg.Instance
	if who == "" {
		who = address.Instance(reg.ID)
	}
	if err := c.mayRegister(ctx, who, address.Instance(reg.ID)); err != nil {
		return nil, err
	}
	if err := c.Registry.Register(ctx, raw); err != nil {
		return nil, err
	}
	return registered{true, reg.ID}, nil
}

// A registered names the agent that was registered.
type registered struct {
	OK       bool   `json:"ok"`
	Instance string `json:"instance"`
}

// mayRegister refuses a registration for another agent: others believe that a registered agent exists.
func (c *call) mayRegister(ctx context.Context, all ...address.Instance) error {
	for _, i := range all {
		if err := noPerson(i); err != nil {
			return err
		}
	}
	own, err := c.speaker(ctx, c.bus, true)
	nobody, unknown := errors.AsType[*nobodyError](err)
	if err != nil && !unknown {
		return err
	}
	allowed := all[0]
	if !unknown {
		allowed = own.Instance
	} else {
		c.mu.Lock()
		first := c.registered == ""
		if first {
			c.registered = allowed
		}
		allowed = c.registered
		c.mu.Unlock()
	}
	for _, i := range all {
		if isOwn(i, allowed) {
			continue
		}
		if unknown && allowed == all[0] {
			return c.refuse("", "id and instance of the registration are two agents: %s and %s", all[0], i)
		}
		if unknown {
			return c.refuse(nobody.Hint(), "this connection has registered %s already", allowed)
		}
		return foreign(allowed, fmt.Sprintf("%s is not registered for others", i), "each agent registers itself when it connects")
	}
	return nil
}

// discoverInstances lists registrations as they stand.
func discoverInstances(ctx context.Context, c *call) (any, error) {
	role, scope := c.text("role"), c.text("scope")
	gone, err := c.Registry.Tombstones(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row[json.RawMessage]
	for reg, err := range c.Registry.All(ctx) {
		if store.IsUnfit(err) {
			continue // a bad line is the doctor's to tell
		}
		if err != nil {
			return nil, err
		}
		if _, left := gone[reg.Instance.Canonical()]; left {
			continue
		}
		rows = append(rows, row[json.RawMessage]{key: rowKey(len(rows)), id: reg.ID, make: func() (json.RawMessage, error) {
			ok, err := c.has(ctx, reg.Instance, role, scope)
			if !ok && err == nil {
				err = errLeftOut
			}
			return reg.Raw, err
		}})
	}
	return answerPage(c, "its registration is too long to be shown; tutti store log registry shows it on a command line", rows, func(p page[json.RawMessage]) any {
		return instances{p.rows, p.pageTail}
	})
}

// instances are a page of registered agents.
type instances struct {
	Instances []json.RawMessage `json:"instances"` // their registrations
	pageTail
}

// has tells whether an instance has a role and a scope, by registration or grant; "" is had by all.
func (c *call) has(ctx context.Context, i address.Instance, role, scope string) (bool, error) {
	if role == "" && scope == "" {
		return true, nil
	}
	roles, scopes, err := c.Registry.Effective(ctx, i)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return false, err
	}
	return (role == "" || slices.Contains(roles, role)) && (scope == "" || slices.Contains(scopes, scope)), nil
}
