package server

import (
	"context"
	"encoding/json"
	"errors"

	"tutti/internal/bus/registry"
	"tutti/internal/governance/agreement"
)

// attest says in the name of this connection that it has understood a dossier: in the journal of a negotiation, or in an
// envelope, which is the caller's to deliver.
func attest(ctx context.Context, c *call) (any, error) {
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
		return entered(e, warning), nil
	}
	raw, err := t.Message(now())
	if err != nil {
		return nil, err
	}
	o := attestation{raw, warning}
	if !fits(o) {
		return nil, c.refuse("give shorter ids", "the envelope has %d bytes, more than one answer takes", len(raw))
	}
	return o, nil
}

// An attestation is a signed envelope that the caller delivers.
type attestation struct {
	Envelope json.RawMessage `json:"envelope"`
	Warning  string          `json:"warning,omitempty"` // about a private key that came with the call
}
