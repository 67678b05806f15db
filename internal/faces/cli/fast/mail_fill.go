package fast

import (
	"context"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

// Complete fills in what an unsigned envelope lacks. Who sends it is the actor that it names, else
// the agent of that name, or without one the agent that acts here. What may
// not be stored is an error that names every fault.
func Complete(ctx context.Context, c *kit.Call, d *kit.Account, raw []byte, signed bool, as string) ([]byte, *identity.Speaker, error) {
	who := &identity.Speaker{Role: identity.RoleAgent, Scope: identity.DefaultScope}
	if !signed {
		if actor, ok := canonjson.Get(raw, "actor"); ok {
			named, _ := canonjson.Get(actor, "instance")
			i, _ := canonjson.String(named)
			who.Instance = address.Instance(i)
		}
		var err error
		if who.Instance == "" {
			if who, err = d.Identity.Speak(ctx, kit.FactsOf(c.App), identity.Ask{As: as}, d.Now); err != nil {
				return nil, nil, kit.Whose(err)
			}
		}
		a := envelope.Actor{Instance: who.Instance, Role: who.Role, Scope: who.Scope}
		if raw, err = envelope.Fill(raw, a, d.Now); err != nil {
			return nil, nil, err
		}
	}
	if err := envelope.Check(raw); err != nil {
		return nil, nil, err
	}
	return raw, who, nil
}

// Vouched tells whether an envelope that came unsigned may be signed with the key of its actor. That of a person signs what
// says of itself that it is unattended and claims no person's role; anything else only where the person can be: at a terminal
// and not below an agent program.
func Vouched(ctx context.Context, c *kit.Call, d *kit.Account, raw []byte, who *identity.Speaker) (bool, error) {
	if err := c.InName(ctx, d.World, who.Instance); err != nil {
		return false, err
	}
	if who.Instance.Canonical().Host() != identity.Human {
		return true, nil
	}
	s, err := d.Identity.Speak(ctx, kit.FactsOf(c.App), identity.Ask{As: string(who.Instance), Peek: true}, d.Now)
	if err != nil || s.Via != identity.Unattended {
		return err == nil, err
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return false, err
	}
	if e.Via() == identity.Unattended && e.Actor.Role != identity.RolePerson {
		return true, nil
	}
	c.Warn("it is not signed for %s: this is not a terminal; tutti send signs, and says so in the message", kit.Name(who.Instance))
	return false, nil
}
