package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/envelope"
	"tutti/internal/mcpwire"
	"tutti/internal/negotiation"
	"tutti/internal/registry"
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
	actor, err := c.attester(ctx, a)
	if err != nil {
		return nil, err
	}
	body, err := declaration.Attestation{Subject: string(a.By), Dossier: hash, At: at}.Body()
	if err != nil {
		return nil, c.refuse("dossierHash is what tutti_negotiation with show dossier says", "%s", err)
	}
	signed, err := declaration.SignBody(body, a.Key)
	if err != nil {
		return nil, err
	}
	var own canonjson.Object
	own.Str("by", signed.By)
	own.Str("alg", signed.Alg)
	own.Str("value", signed.Value)
	if id := c.text("negotiationId"); id != "" {
		return c.attestIn(ctx, id, a, actor, body, own.Bytes(), warning)
	}
	d := envelope.Draft{
		ID: a.EventID, Actor: actor, CausationID: a.CausationID, CorrelationID: a.CorrelationID, Created: now(), Body: body,
	}
	if d.ID == "" {
		d.ID = "env-" + address.NewEvent("comprehension", now())[len("evt-"):]
	}
	raw, err := d.Bytes()
	if err == nil {
		raw, err = envelope.Sign(canonjson.Set(raw, "signatures", array([][]byte{own.Bytes()})), a.By, a.Key)
	}
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Raw("envelope", raw)
	o.Opt("warning", warning)
	if !mcpwire.Fits(o.Bytes()) {
		return nil, c.refuse("give shorter ids", "the envelope has %d bytes, more than one answer takes", len(raw))
	}
	return &o, nil
}

// attester is as whom somebody attests who is registered and may do so.
func (c *call) attester(ctx context.Context, a negotiation.Act) (envelope.Actor, error) {
	reg, err := c.Registry.Registered(ctx, a.By)
	if errors.Is(err, registry.ErrNotRegistered) {
		return envelope.Actor{}, c.refuse("h2a_register_instance registers it", "%s is not registered", a.By)
	}
	if err != nil {
		return envelope.Actor{}, err
	}
	keys, err := c.Registry.Keys(ctx, a.By)
	if err != nil {
		return envelope.Actor{}, err
	}
	if !slices.Contains(keys.Active, a.Key.Public()) {
		return envelope.Actor{}, c.refuse("tutti keys list shows those that it has", "the key is none of the active keys of %s", a.By)
	}
	roles, scopes := reg.Roles, reg.Scopes
	if role := c.text("role"); role != "" {
		if !slices.Contains(roles, role) {
			return envelope.Actor{}, c.refuse("leave role out", "%s is not registered as %s", a.By, clip(role, maxWord))
		}
		roles = []string{role}
	}
	if !declaration.MayAttest(roles, reg.Capabilities) {
		return envelope.Actor{}, c.refuse("AGENTS need the capability "+declaration.AttestRight+" in their registration; all others a role that may",
			"%s may not attest: PRINCIPAL, EXECUTIF and MANDATAIRE may by their role", a.By)
	}
	actor := envelope.Actor{Instance: a.By, Role: roles[0], Scope: c.text("scope"), Mandate: a.Mandate}
	if actor.Scope == "" {
		actor.Scope = append(slices.Clone(scopes), "scope:default")[0]
	}
	return actor, nil
}

// attestIn puts an attestation into a journal.
func (c *call) attestIn(ctx context.Context, id string, a negotiation.Act, actor envelope.Actor, body, signature []byte, warning string) (*canonjson.Object, error) {
	n := c.agree.Negotiations()
	s, err := n.Status(ctx, id, now())
	if err != nil {
		return nil, c.about(id, err)
	}
	if s.Record != nil && c.text("scope") == "" {
		actor.Scope = s.Record.Scope
	}
	tip, err := n.Journal().Catch(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	var by, o canonjson.Object
	by.Str("instance", string(actor.Instance))
	by.Str("role", actor.Role)
	by.Str("scope", actor.Scope)
	by.Opt("mandate", actor.Mandate)
	o.Str("id", cmp.Or(a.EventID, address.NewEvent("comprehension", now())))
	o.Str("type", "event")
	o.Raw("actor", by.Bytes())
	o.Raw("body", body)
	o.Str("createdAt", envelope.Stamp(now()))
	o.Str("negotiationId", id)
	o.Opt("causationId", cmp.Or(a.CausationID, tip.ID))
	o.Opt("correlationId", cmp.Or(a.CorrelationID, tip.CorrelationID))
	o.Raw("signatures", array([][]byte{signature}))
	e, err := n.Event(ctx, id, a, o.Bytes(), now())
	if err != nil {
		return nil, c.about(id, err)
	}
	return entry(e, warning), nil
}
