package cli

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

func runNegotiateStabilize(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	a := negotiation.Act{EventID: c.value("event-id")}
	if c.under != H2A && c.value("instance") != "" {
		if a, err = d.act(ctx, false); err != nil {
			return err
		}
	}
	n, err := d.bus.For(ctx, profile.Stabilise, a.By)
	if err != nil {
		return choiceFault(err)
	}
	pool, done := c.pool()
	r, err := n.Stabilize(ctx, d.id, a, pool, d.now)
	done()
	if err != nil {
		return d.unstable(ctx, err)
	}
	path := r.Path
	if d.w.Root != nil {
		path = strings.TrimSuffix(d.w.Root.Path, "/") + "/" + path
	}
	if c.json {
		c.emit(stabilizedJSON(r, path))
		return nil
	}
	c.line(c.paint(green, "stabilized") + " " + Clean(d.id))
	c.facts([][]string{
		{"artifact", r.ArtifactHash},
		{"signers", Clean(strings.Join(instanceTexts(r.Signers), " "))},
		{"kept as", Clean(c.App.Shown(path))},
		{"entry", itoa(r.Final.Sequence)},
	})
	for _, e := range r.Advisory {
		c.remark("entry %d advises: see tutti confiance --negotiation %s", e.Sequence, Clean(app.QuoteArg(d.id)))
	}
	c.line("next:  tutti negotiate verify " + Clean(app.QuoteArg(d.id)))
	return nil
}

// unstable says why nothing was stabilised, and what is missing.
func (d *deal) unstable(ctx context.Context, err error) error {
	f := d.dealFault(err)
	if !errors.Is(err, negotiation.ErrQuorum) || d.under == H2A {
		return f
	}
	if s, err := d.bus.Negotiations().Status(ctx, d.id, d.now); err == nil && len(s.Next) > 0 {
		return hintInstead(f, steps(s.Next)[0])
	}
	return f
}

func stabilizedJSON(r *negotiation.Result, path string) []byte {
	ref := func(o *canonjson.Object, e negotiation.EventRef) {
		o.Str("id", e.ID)
		o.Int("sequence", int64(e.Sequence))
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Raw("record", r.Record.Raw)
	o.Str("artifactHash", r.ArtifactHash)
	o.Strs("signers", instanceTexts(r.Signers))
	o.Str("artifactPath", path)
	var l list
	for _, e := range r.Advisory {
		var one canonjson.Object
		ref(&one, e)
		l.obj(&one)
	}
	o.Raw("advisoryEvents", l.bytes())
	o.Within("finalEvent", func(o *canonjson.Object) { ref(o, r.Final) })
	return o.End()
}
