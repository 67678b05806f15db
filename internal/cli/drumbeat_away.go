package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/address"
	"tutti/internal/app"
	"tutti/internal/drumbeat"
	"tutti/internal/envelope"
	"tutti/internal/keyring"
	"tutti/internal/registry"
)

// elsewhere is what asks agents of other machines; nil where nobody wants that: it takes --relauncher remote, or auto with somebody who signs.
func (c *Call) elsewhere(ctx context.Context, w *app.World, p *RemoteParts) (drumbeat.Relauncher, error) {
	switch way := c.value("relauncher"); {
	case way == app.Remote:
	case way == "auto" && c.value("instance") != "" && (c.under != H2A || c.value("private-key") != ""):
	default:
		return nil, nil //nolint:nilnil // there is none
	}
	who, key, err := c.signer(ctx, w, "instance")
	if errors.Is(err, keyring.ErrNoKey) && c.value("relauncher") == "auto" {
		return nil, nil //nolint:nilnil // its other ways need no key
	}
	if err != nil {
		return nil, err
	}
	if err := w.Registry.Standing(ctx, who); err != nil {
		return nil, err
	}
	from, err := c.actor(ctx, w, who)
	if err != nil {
		return nil, err
	}
	return drumbeat.Elsewhere{
		From: from, Now: time.Now,
		Where: func(ctx context.Context, i address.Instance) (string, error) {
			r, err := w.Registry.ByInstance(ctx, i)
			if errors.Is(err, registry.ErrNotRegistered) {
				return "", nil
			}
			if err != nil {
				return "", fmt.Errorf("look up the endpoint of %s: %w", i, err)
			}
			return endpointURL(r), nil
		},
		Seal: func(raw []byte, url string) ([]byte, error) { return p.Seal(raw, who, key, url) },
		Post: func(ctx context.Context, url string, raw []byte) (int, error) {
			status, _, err := p.Post(ctx, url, raw, "")
			return status, err
		},
	}, nil
}

// actor is who speaks in an envelope, with the role and the scope of the flags, else the first ones that are registered.
func (c *Call) actor(ctx context.Context, w *app.World, who address.Instance) (envelope.Actor, error) {
	a := envelope.Actor{Instance: who, Role: "AGENTS", Scope: "scope:default"}
	roles, scopes, err := w.Registry.Effective(ctx, who)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return a, err
	}
	if len(roles) > 0 {
		a.Role = roles[0]
	}
	if len(scopes) > 0 {
		a.Scope = scopes[0]
	}
	if s := c.value("role"); s != "" {
		a.Role = s
	}
	if s := c.value("scope"); s != "" {
		a.Scope = s
	}
	return a, nil
}
