package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// finish registers what is not registered, records the channels and tells the agent.
func (c *claim) finish(ctx context.Context, b Binding) error {
	r := c.result
	ctx = context.WithoutCancel(ctx) // a bound agent is also registered: without that it could not get mail
	r.Instance, r.Action = b.Instance, Reclaim
	if b.Instance == c.minted {
		r.Action = Mint
		r.Notice = c.notice()
	}
	if c.busy != "" && c.busy != b.Instance {
		r.Notice = fmt.Sprintf("the agent of this transcript, %s, is in use by another conversation, so this one is %s: tell your peers its id", c.busy, b.Instance)
	}
	if err := c.k.register(ctx, c.registration(b), c.now); err != nil {
		return err
	}
	if err := c.k.recordAliases(ctx, b.Instance, r.Legacy, c.now); err != nil {
		return err
	}
	return c.paths()
}

func (c *claim) registration(b Binding) registry.Agent {
	a := registry.Agent{Instance: b.Instance, Scopes: c.q.Scopes, AgentUUID: b.UUID, Workspace: c.result.Workspace, Name: c.result.Name}
	if r := c.q.Role; r != "" && r != registry.Agents {
		a.Roles = []string{r, registry.Agents}
	}
	return a
}

// A RoleError reports an agent that was registered without the role that it is to have. Registrations never change.
type RoleError struct {
	Instance address.Instance
	Role     string
	Has      []string
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("%s is registered already, as %s, and a registration never changes", e.Instance, strings.Join(e.Has, ", "))
}

// Hint says what to type.
func (e *RoleError) Hint() string {
	return fmt.Sprintf("a new agent can have the role: tutti connect --host %s --name NEWNAME --role %s", e.Instance.Host(), e.Role)
}

// hasRole refuses an instance that was registered without a role. "" is none in particular.
func (k *Keeper) hasRole(ctx context.Context, i address.Instance, role string) error {
	if role == "" {
		return nil
	}
	reg, err := k.Registry.ByInstance(ctx, i)
	switch {
	case errors.Is(err, registry.ErrNotRegistered), err == nil && reg.Mirrored():
		return nil // it will be, with the role
	case err != nil:
		return err
	case slices.Contains(reg.Roles, role):
		return nil
	}
	return &RoleError{Instance: i, Role: role, Has: reg.Roles}
}

// notice says what is new for those who knew the agent under another id.
func (c *claim) notice() string {
	if c.refused != "" {
		return fmt.Sprintf("%s was revoked or offboarded and is not taken up again; this is a new agent, tell your peers its id", c.refused)
	}
	if c.k.Ring.Has(c.result.Legacy) {
		return fmt.Sprintf("the key of %s is an older program's; it was not copied, this agent has a key of its own", c.result.Legacy)
	}
	return ""
}

// paths names the key files.
func (c *claim) paths() error {
	private, public, err := c.k.Ring.Files(c.result.Instance)
	c.result.PrivateKeyPath, c.result.PublicKeyPath = private, public
	return err
}

// register adds a registration for an instance that has none, with the key of the keyring. What another bus has shown of it is none.
func (k *Keeper) register(ctx context.Context, n registry.Agent, now time.Time) error {
	switch reg, err := k.Registry.ByInstance(ctx, n.Instance); {
	case err == nil && !reg.Mirrored():
		return nil
	case err != nil && !errors.Is(err, registry.ErrNotRegistered):
		return err
	}
	key, err := k.Ring.Load(n.Instance)
	if err != nil {
		return err
	}
	n.Root, n.PublicKeys = k.Root, []string{key.Public().PEM()}
	raw := registry.Build(n, now)
	err = k.Registry.Register(ctx, raw)
	if errors.Is(err, registry.ErrRegistered) {
		return nil // by another process that finishes the same binding
	}
	if err != nil || k.Made == nil {
		return err
	}
	made, err := registry.Parse(raw)
	if err == nil {
		k.Made(made)
	}
	return err
}

// bridge is the way of an agent behind a bridge: the conversation is the id, and no binding is written.
func (c *claim) bridge(ctx context.Context) error {
	i := address.NewInstance(Remote, c.result.Name)
	if c.q.Session != "" {
		i = address.Bridged(c.q.Session)
	}
	if err := address.Check(string(i)); err != nil {
		return err
	}
	if err := c.k.Registry.Standing(ctx, i); err != nil {
		return err // its id is that of the conversation, so that there is no other one to give it
	}
	if err := c.k.hasRole(ctx, i, c.q.Role); err != nil {
		return err
	}
	if !c.k.Ring.Has(i) {
		if _, err := c.k.Ring.Generate(i, false); err != nil {
			return err
		}
	}
	c.result.Instance, c.result.Action = i, Mint
	if err := c.k.register(ctx, c.registration(Binding{Instance: i}), c.now); err != nil {
		return err
	}
	if err := c.activate(ctx, i); err != nil {
		return err
	}
	if err := c.k.recordAliases(ctx, i, c.result.Legacy, c.now); err != nil {
		return err
	}
	return c.paths()
}

// activate adds the local key of a registered instance that another keyring registered. One that was revoked stays so.
func (c *claim) activate(ctx context.Context, i address.Instance) error {
	key, err := c.k.Ring.Load(i)
	if err != nil {
		return err
	}
	err = c.k.Registry.AddKey(ctx, i, key.Public().PEM(), nil, c.now)
	switch {
	case errors.Is(err, registry.ErrKeyActive):
		return nil
	case errors.Is(err, registry.ErrKeyRevoked):
		c.result.Notice = fmt.Sprintf("the key of %s was revoked, which is final; its messages will not verify", i)
		return nil
	}
	return err
}
