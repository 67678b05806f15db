package agree

import (
	"cmp"
	"context"
	"strconv"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
)

type eventOptions struct {
	idOption
	JSON, Instance, CausationID, CorrelationID string
}

func runNegotiateEvent(ctx context.Context, d *deal, opt *eventOptions) error {
	arg := d.Arg(1)
	if d.Under == kit.H2A {
		if arg = opt.JSON; arg == "" {
			return d.Missing(&opt.JSON)
		}
	}
	raw, err := document(ctx, d.Call, arg, "the entry")
	if err != nil {
		return err
	}
	if !canonjson.IsObject(raw) {
		return kit.Refuse("", "the entry is not a JSON object")
	}
	a, raw, err := d.fillEntry(ctx, raw, opt)
	if err != nil {
		return err
	}
	e, err := d.bus.Negotiations().Event(ctx, d.id, a, raw, d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if d.JSON {
		d.EmitSigned(e.Raw)
		return nil
	}
	d.Line("added entry " + strconv.Itoa(e.Sequence) + " to " + kit.Clean(d.id))
	return nil
}

// fillEntry adds the members that an entry lacks, and keeps those that it has.
func (d *deal) fillEntry(ctx context.Context, raw []byte, opt *eventOptions) (negotiation.Act, []byte, error) {
	var a negotiation.Act
	tip, err := d.bus.Negotiations().Journal().Catch(ctx, d.id, nil)
	if err != nil {
		return a, nil, dealFault(d.Call, err)
	}
	fill := func(name, value string) {
		if _, has := canonjson.Get(raw, name); !has && value != "" {
			raw = canonjson.Set(raw, name, canonjson.AppendString(nil, value))
		}
	}
	if actor, ok := canonjson.Get(raw, "actor"); ok {
		a.By = address.Instance(textOf(actor, "instance"))
	} else {
		if d.Under == kit.H2A {
			return a, nil, kit.Refuse("", "the entry names no actor")
		}
		if a.By, err = d.Actor(ctx, d.w, opt.Instance); err != nil {
			return a, nil, err
		}
		raw = canonjson.Set(raw, "actor", render.JSON(envelope.Actor{Instance: a.By, Role: identity.RoleAgent, Scope: identity.DefaultScope}))
	}
	if a.By != "" {
		if err = d.InName(ctx, d.w, a.By); err != nil {
			return a, nil, err
		}
		if a.Key, err = d.sealKey(ctx, a.By, false); err != nil {
			return a, nil, err
		}
	}
	fill("id", address.NewEvent("event", d.now))
	fill("type", "event")
	fill("createdAt", envelope.Stamp(d.now))
	fill("negotiationId", d.id)
	fill("causationId", cmp.Or(opt.CausationID, tip.ID))
	fill("correlationId", cmp.Or(opt.CorrelationID, tip.CorrelationID))
	return a, raw, nil
}
