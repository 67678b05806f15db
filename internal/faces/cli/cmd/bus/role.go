package bus

import (
	"context"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// A roleResult is an agent with the role that it was given.
type roleResult struct {
	OK    bool             `json:"ok"`
	Agent address.Instance `json:"instance"`
	Roles []string         `json:"roles"`
	Given bool             `json:"given"`
}

// runRole gives an existing agent a role, if the user asks for it.
func runRole(ctx context.Context, c *kit.Call) error {
	role := strings.ToUpper(c.Arg(1))
	if !slices.Contains(envelope.Roles, role) {
		return kit.UsageHint("one of: "+strings.Join(envelope.Roles, ", "), "role: %s is not a role", kit.Clean(c.Arg(1)))
	}
	if _, err := c.ForUser("give an agent a role"); err != nil {
		return err
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := w.Identity.Named(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	reg, err := w.Registry.Registered(ctx, who)
	if err != nil {
		return c.RegistryFault(err)
	}
	now := time.Now()
	if err := giveRole(ctx, w, who, role, now); err != nil {
		return err
	}
	given, err := w.Registry.GrantMissing(ctx, who, role, reg.Scopes, string(roleGiver(ctx, c, w)), now)
	if err != nil {
		return err
	}
	result := roleResult{OK: true, Agent: who, Roles: trust.RolesOf(who, reg, w.Pins).Count, Given: len(given) > 0}
	if c.JSON {
		c.Result(result)
		return nil
	}
	c.Line(kit.Name(who) + " has the roles " + kit.Clean(strings.Join(result.Roles, ", ")))
	return nil
}

// giveRole remembers that the user gave an agent a role, with the key that counts for the agent.
func giveRole(ctx context.Context, w *app.World, who address.Instance, role string, now time.Time) error {
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if len(keys.Active) == 0 {
		return kit.BadState("", "role: %s has no active key: nothing that it signs would count", kit.Name(who))
	}
	key := keys.Active[len(keys.Active)-1]
	if pinned, ok := w.Pins.Get(who); ok {
		key = pinned[0]
	}
	if err := w.Pins.GiveRole(who, key, role, now); err != nil {
		return kit.FailIO("", err, "")
	}
	return nil
}

// giveConnected gives an agent the role that the user connected it with, if the agent had registered itself with that role before.
func giveConnected(ctx context.Context, w *app.World, who address.Instance, role string) error {
	if role == "" {
		return nil
	}
	reg, err := w.Registry.Registered(ctx, who)
	if err != nil || !slices.Contains(trust.RolesOf(who, reg, w.Pins).Claimed, role) {
		return err
	}
	return giveRole(ctx, w, who, role, time.Now())
}

// roleGiver returns the agent that the grant names, "" if the user has no identity yet.
func roleGiver(ctx context.Context, c *kit.Call, w *app.World) address.Instance {
	s, err := c.Peek(ctx, w, "")
	if err != nil {
		return ""
	}
	return s.Instance
}
