package server

import (
	"context"
	"errors"

	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/agreement"
)

// attest says in the name of this connection that it has understood a dossier: in the journal of a negotiation, or in an
// envelope, which is the caller's to deliver.
func attest(ctx context.Context, c *call) (*canonjson.Object, error) {
	a, warning, err := c.act(ctx)
	if err != nil {
		return nil, err
	}
	hash, err := c.attested()
	if err != nil {
		return nil, err
	}
	at, err := c.stamp("at")
	if err != nil {
		return nil, err
	}
	t, err := c.deals().Attest(ctx, a, agreement.Attesting{Dossier: hash, At: at, Role: c.text("role"), Scope: c.text("scope"), Created: now()})
	if errors.Is(err, registry.ErrNotRegistered) {
		return nil, c.refuse(c.toolName("h2a_register_instance")+" registers it", "%s is not registered", a.By)
	}
	if err != nil {
		return nil, err
	}
	if id := c.text("negotiationId"); id != "" {
		e, err := t.Journal(ctx, id, now())
		if err != nil {
			return nil, err
		}
		return entry(e, warning), nil
	}
	raw, err := t.Message(now())
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Raw("envelope", raw)
	o.Opt("warning", warning)
	if !wire.Fits(o.Bytes()) {
		return nil, c.refuse("give shorter ids", "the envelope has %d bytes, more than one answer takes", len(raw))
	}
	return &o, nil
}
