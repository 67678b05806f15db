package agree

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/faces/cli/cmd/govern"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

type stabilizeOptions struct {
	idOption
	Instance, EventID string
}

func runNegotiateStabilize(ctx context.Context, d *deal, opt *stabilizeOptions) error {
	a := negotiation.Act{EventID: opt.EventID}
	if opt.Instance != "" {
		var err error
		if a, err = d.act(ctx, &actorOptions{Instance: opt.Instance, entryOptions: entryOptions{EventID: opt.EventID}}, false); err != nil {
			return err
		}
	}
	n, err := d.bus.For(ctx, profile.Stabilise, a.By)
	if err != nil {
		return govern.ChoiceFault(err)
	}
	step, done := d.Progress("entries looked at")
	n.Looked = step
	r, err := n.Stabilize(ctx, d.id, a, d.now)
	done()
	if err != nil {
		return d.unstable(ctx, err)
	}
	path := r.Path
	if d.w.Root != nil {
		path = strings.TrimSuffix(d.w.Root.Path, "/") + "/" + path
	}
	if d.JSON {
		d.Result(r.View(path))
		return nil
	}
	d.Line(d.Paint(kit.Green, "stabilized") + " " + kit.Clean(d.id))
	d.Facts([][]string{
		{"artifact", r.ArtifactHash},
		{"signers", kit.NameList(r.Signers, " ")},
		{"kept as", kit.Clean(d.App.Shown(path))},
		{"entry", strconv.Itoa(r.Final.Sequence)},
	})
	for _, e := range r.Advisory {
		d.Remark("entry %d advises: see tutti confiance --negotiation %s", e.Sequence, kit.Clean(app.QuoteArg(d.id)))
	}
	d.Line("next:  tutti negotiate verify " + kit.Clean(app.QuoteArg(d.id)))
	return nil
}

// unstable returns why nothing was stabilised, and what is missing.
func (d *deal) unstable(ctx context.Context, err error) error {
	f := dealFault(d.Call, err)
	if !errors.Is(err, negotiation.ErrQuorum) || d.Under == kit.H2A {
		return f
	}
	if s, err := d.bus.Negotiations().Status(ctx, d.id, d.now); err == nil && len(s.Next) > 0 {
		return kit.HintInstead(f, steps(s.Next)[0])
	}
	return f
}
