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

// A roleResult is what role prints for programs.
type roleResult struct {
	OK    bool             `json:"ok"`
	Agent address.Instance `json:"instance"`
	Roles []string         `json:"roles"`
	Given bool             `json:"given"`
}

// runRole gives an existing agent a role, on the word of the user.
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
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if len(keys.Active) == 0 {
		return kit.BadState("", "role: %s has no active key: nothing that it signs would count", kit.Name(who))
	}
	now := time.Now()
	key := keys.Active[len(keys.Active)-1]
	if pinned, ok := w.Pins.Get(who); ok {
		key = pinned[0]
	}
	if err := w.Pins.GiveRole(who, key, role, now); err != nil {
		return kit.FailIO("", err, "")
	}
	given, err := w.Registry.GrantMissing(ctx, who, role, reg.Scopes, string(roleGiver(ctx, c, w)), now)
	if err != nil {
		return err
	}
	result := roleResult{OK: true, Agent: who, Roles: rolesOf(reg.Roles, w.Pins, who), Given: len(given) > 0}
	if c.JSON {
		c.Emit(kit.Marshal(result))
		return nil
	}
	c.Line(kit.Name(who) + " has the roles " + kit.Clean(strings.Join(result.Roles, ", ")))
	return nil
}

// roleGiver is who the grant names, "" where nobody has an identity yet.
func roleGiver(ctx context.Context, c *kit.Call, w *app.World) address.Instance {
	s, err := c.Peek(ctx, w, "")
	if err != nil {
		return ""
	}
	return s.Instance
}

// rolesOf are the roles of a registration and those that the user gave, each once.
func rolesOf(registered []string, given trust.RoleMemory, who address.Instance) []string {
	all := slices.Clone(registered)
	for _, r := range given.Given(who) {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}
