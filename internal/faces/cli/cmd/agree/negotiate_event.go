package agree

import (
	"cmp"
	"context"
	"strconv"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
)

func runNegotiateEvent(ctx context.Context, d *deal) error {
	arg := d.Arg(1)
	if d.Under == kit.H2A {
		if arg = d.Value("json"); arg == "" {
			return d.Missing("json")
		}
	}
	raw, err := document(ctx, d.Call, arg, "the entry")
	if err != nil {
		return err
	}
	if !canonjson.IsObject(raw) {
		return kit.Refuse("", "the entry is not a JSON object")
	}
	a, raw, err := d.fillEntry(ctx, raw)
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

// fillEntry adds what an entry lacks. What it names itself stays.
func (d *deal) fillEntry(ctx context.Context, raw []byte) (negotiation.Act, []byte, error) {
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
		if a.By, err = d.subjectOr(ctx, "the entry names no actor"); err != nil {
			return a, nil, err
		}
		var o canonjson.Object
		o.Str("instance", string(a.By))
		o.Str("role", identity.RoleAgent)
		o.Str("scope", identity.DefaultScope)
		raw = canonjson.Set(raw, "actor", o.End())
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
	fill("causationId", cmp.Or(d.Value("causation-id"), tip.ID))
	fill("correlationId", cmp.Or(d.Value("correlation-id"), tip.CorrelationID))
	return a, raw, nil
}

// subjectOr is subject; under h2a, where nobody is asked, what is missing is said.
func (d *deal) subjectOr(ctx context.Context, missing string) (address.Instance, error) {
	if d.Under == kit.H2A {
		return "", kit.Refuse("", "%s", missing)
	}
	return d.Actor(ctx, d.w, d.Value("instance"))
}
