package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/agreement"
	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/store"
)

// turnsShown is how many negotiations the one screen names.
const turnsShown = 3

// findTurns finds out which negotiations wait for who speaks here. The light program is replaced by the heavy one, which can read them,
// when there are any.
func (v *statusView) findTurns(ctx context.Context, c *Call, w *app.World) error {
	if c.comms != nil {
		var err error
		v.turns, err = c.comms.turns(ctx, c, w, v)
		return err
	}
	for _, err := range w.Store.List(ctx, store.Negotiation, "") {
		if _, unfit := errors.AsType[*store.UnfitError](err); unfit {
			continue
		}
		if err != nil {
			return err
		}
		return c.toHeavy()
	}
	return nil
}

// turnsOf is what waits for who speaks here.
func turnsOf(ctx context.Context, _ *Call, w *app.World, v *statusView) ([]agreement.Turn, error) {
	return w.Agreements().Turns(ctx, v.you.Instance, time.Now())
}

// sayTurns prints a line for each negotiation that waits, up to some. Where none does nothing is said.
func (c *Call) sayTurns(v *statusView) {
	head := c.paint(bold, "sign ") + " "
	for n := range v.turns {
		if n == turnsShown {
			c.line("      and " + plural(len(v.turns)-n, "other") + `: "tutti negotiate list"`)
			return
		}
		t := &v.turns[n]
		text := Clean(t.ID + " (" + t.Subject + ") ")
		if t.Offer != nil {
			text += "waits for your answer to " + strings.TrimSpace(Clean(t.Offer.Kind)+" "+shortHash(t.Offer.Hash)) + " by " + Clean(string(t.Offer.By))
		} else {
			text += "is signed by all who have to, and can be stabilised"
		}
		c.prose(head, 6, text)
		head = "      "
	}
}

// turnHint is what to type for the first of those that wait.
func (v *statusView) turnHint() string {
	if len(v.turns) == 0 {
		return ""
	}
	t := &v.turns[0]
	if t.Offer != nil {
		return `"tutti negotiate show ` + app.QuoteArg(t.ID) + `" shows what waits for you, "` + t.Command + `" signs it`
	}
	return `"` + t.Command + `" makes an agreement of it`
}

func turnsJSON(all []agreement.Turn) []byte {
	var l list
	for n := range all {
		var o canonjson.Object
		o.Str("id", all[n].ID)
		o.Str("subject", all[n].Subject)
		o.Str("state", string(all[n].State))
		if f := all[n].Offer; f != nil {
			o.Str("artifactHash", f.Hash)
			o.Str("by", string(f.By))
		}
		o.Str("command", all[n].Command)
		l.obj(&o)
	}
	return l.bytes()
}
