package agree

import (
	"context"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/negotiation"
)

// A proposed is what --json says of a proposal.
type proposed struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	With []string `json:"with"`
	Next string   `json:"next"` // what each of them types
}

type proposeOptions struct{ With, Text, ID, As string }

// runNegotiatePropose proposes a text to other agents: it opens a negotiation, offers the text and signs it.
func runNegotiatePropose(ctx context.Context, c *kit.Call, opt *proposeOptions) error {
	p := agreement.Proposal{ID: opt.ID, Text: opt.Text}
	names := kit.Split(opt.With)
	switch {
	case len(names) == 0:
		return c.Missing(&opt.With)
	case strings.TrimSpace(p.Text) == "":
		return c.Missing(&opt.Text)
	}
	d, err := dealOf(c, app.Writing, p.ID)
	if err != nil {
		return err
	}
	defer d.close()
	from, err := d.w.Identity.Speak(ctx, kit.FactsOf(d.App), identity.Ask{As: opt.As}, d.now)
	if err != nil {
		return kit.WithFlag(err, "--as")
	}
	office, err := d.w.MailService()
	if err != nil {
		return err
	}
	if p.With, err = full.Parties(ctx, office, names, d.App.Workplace().Path); isRule(err) {
		return dealFault(c, err)
	}
	if err != nil {
		return kit.WithFlag(err, "--with")
	}
	a := negotiation.Act{By: from.Instance}
	if a.Key, err = d.sealKey(ctx, from.Instance, true); err != nil {
		return err
	}
	p.Scope = from.Scope
	id, e, err := d.bus.Propose(ctx, a, p, d.now)
	if d.id = id; err != nil {
		return dealFault(c, err)
	}
	if err := full.TellProposal(ctx, office, from, id, p); err != nil {
		d.Warn("the proposal is recorded, but not everyone got mail about it: %s", kit.Clean(err.Error()))
	}
	next := "tutti negotiate accept " + app.QuoteArg(id)
	if d.JSON {
		d.Result(proposed{ID: id, Text: p.Text, With: address.Texts(p.With), Next: next})
		return nil
	}
	d.Line("proposed " + kit.Clean(id) + " to " + kit.NameList(p.With, ", ") + ", signed by you (entry " + strconv.Itoa(e.Sequence) + ")")
	d.Line("they agree with:  " + kit.Clean(next))
	return nil
}

// runNegotiateAccept accepts and signs an offer, and stabilises the agreement if that was the last signature.
func runNegotiateAccept(ctx context.Context, d *deal, opt *actOptions) error {
	_, hash, err := d.artifact(ctx, nil)
	if err != nil {
		return err
	}
	a, err := d.actFor(ctx, opt, true)
	if err != nil {
		return err
	}
	e, r, err := d.bus.Accept(ctx, d.id, a, hash, d.now)
	if err != nil && e == nil {
		return dealFault(d.Call, err)
	}
	if err != nil {
		d.Warn("it is accepted, and not stabilised yet: %s", kit.Clean(err.Error()))
	}
	d.tellOfferer(ctx, a.By, e)
	if err := d.said(ctx, e, "accepted and signed "+textOf(e.Body, "artifactHash")); err != nil {
		return err
	}
	if r != nil && !d.JSON {
		d.Line("all have signed: the agreement is valid and kept")
	}
	return nil
}
