package agree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/cmd/govern"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/halt"
)

type offerOptions struct {
	actOptions
	Artifact, Base, Example string
	Force                   bool
}

func runNegotiateOffer(ctx context.Context, c *kit.Call, opt *offerOptions) error {
	if c.IsSet(&opt.Example) {
		return example(c, opt.Example)
	}
	if c.Under != kit.H2A && len(c.Args) < 2 {
		return kit.UsageHint("usage: "+c.Usage()+"; --example contract prints an artifact to begin with",
			"%s: missing %s", c.Verb.Name, [...]string{"negotiation id", "artifact"}[len(c.Args)])
	}
	if err := c.Requires(&opt.ID, &opt.Instance, &opt.Artifact); err != nil {
		return err
	}
	d, err := openDeal(c, app.Writing, &opt.ID)
	if err != nil {
		return err
	}
	defer d.close()
	raw, hash, err := d.artifact(ctx, &opt.Artifact)
	if err == nil && raw == nil {
		err = kit.Usagef("%s: the artifact itself is offered, not its hash", c.Verb.Name)
	}
	if err != nil {
		if there := d.bus.Negotiations().There(ctx, d.id, d.now); errors.Is(there, negotiation.ErrNotFound) {
			return dealFault(d.Call, there)
		}
		return err
	}
	a, err := d.actFor(ctx, &opt.actOptions, false)
	if err != nil {
		return err
	}
	o := negotiation.Offering{Artifact: raw, Base: opt.Base, Force: opt.Force}
	if c.Under == kit.H2A {
		o.Base, o.Force = negotiation.LatestBase, true // existing programs offer what they like
	}
	n, err := d.bus.For(ctx, profile.Offer, a.By)
	if err != nil {
		return govern.ChoiceFault(err)
	}
	act, word := n.Offer, "offered "
	if c.Verb.Name == "negotiate counter" {
		act, word = n.Counter, "countered with "
	}
	e, err := act(ctx, d.id, a, o, d.now)
	if err != nil {
		return dealFault(c, err)
	}
	if err := d.tellOffer(ctx, a.By); err != nil {
		d.Warn("the offer stands, but mail to some of the agents that have to sign failed: %s", kit.Clean(err.Error()))
	}
	return d.said(ctx, e, word+hash)
}

// tellOfferer sends the agent that made the offer mail about the answer. Under h2a it finds the answer in the journal, as specified.
func (d *deal) tellOfferer(ctx context.Context, by address.Instance, e *journal.Entry) {
	if d.Under == kit.H2A {
		return
	}
	from, err := full.SpeakerOf(ctx, d.w, by)
	if err == nil {
		var office *mail.Service
		if office, err = d.w.MailService(); err == nil {
			err = full.TellOfferer(ctx, office, from, d.bus, d.id, e, d.now)
		}
	}
	if err != nil {
		d.Warn("it is written, but who made the offer was not told by mail: %s", kit.Clean(err.Error()))
	}
}

// tellOffer sends mail to the agents whose signature an offer waits for. Under h2a they find it in the journal, as specified.
func (d *deal) tellOffer(ctx context.Context, by address.Instance) error {
	if d.Under == kit.H2A {
		return nil
	}
	from, err := full.SpeakerOf(ctx, d.w, by)
	if err != nil {
		return err
	}
	office, err := d.w.MailService()
	if err != nil {
		return err
	}
	return full.TellOffer(ctx, office, from, d.bus, d.id, d.now)
}

// example prints an artifact of a kind, to be filled in.
func example(c *kit.Call, kind string) error {
	text := []byte(declaration.Example(strings.ToUpper(strings.ReplaceAll(kind, "-", "_"))))
	if c.JSON {
		c.Emit(text)
	} else {
		c.Raw(text)
	}
	return nil
}

type signOptions struct {
	actOptions
	Artifact string
}

func runNegotiateSign(ctx context.Context, c *kit.Call, opt *signOptions) error {
	if err := c.Requires(&opt.ID, &opt.Instance, &opt.Artifact, &opt.PrivateKey); err != nil {
		return err
	}
	d, err := openDeal(c, app.Writing, &opt.ID)
	if err != nil {
		return err
	}
	defer d.close()
	_, hash, err := d.artifact(ctx, &opt.Artifact)
	if err != nil {
		return err
	}
	a, err := d.actFor(ctx, &opt.actOptions, true)
	if err != nil {
		return err
	}
	n, err := d.bus.For(ctx, profile.Sign, a.By)
	if err != nil {
		return govern.ChoiceFault(err)
	}
	e, err := n.Sign(ctx, d.id, a, hash, d.now)
	if err != nil {
		return dealFault(c, err)
	}
	return d.said(ctx, e, "signed "+textOf(e.Body, "artifactHash"))
}

// textOf returns a member that is a string, "" for any other.
func textOf(raw []byte, name string) string {
	v, _ := canonjson.Get(raw, name)
	s, _ := canonjson.String(v)
	return s
}

type closeOptions struct {
	actOptions
	Reason string
}

func runNegotiateClose(ctx context.Context, d *deal, opt *closeOptions) error {
	if d.Verb.Name == "negotiate withdraw" {
		return d.move(ctx, negotiation.Withdrawn, opt)
	}
	return d.move(ctx, negotiation.Rejected, opt)
}

func (d *deal) move(ctx context.Context, to negotiation.State, opt *closeOptions) error {
	a, err := d.actFor(ctx, &opt.actOptions, false)
	if err != nil {
		return err
	}
	e, err := d.bus.Negotiations().Move(ctx, d.id, a, to, opt.Reason, d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if d.Verb.Name == "negotiate status" && d.JSON {
		return d.emitRecord(ctx)
	}
	if to == negotiation.Rejected {
		d.tellOfferer(ctx, a.By, e)
	}
	return d.said(ctx, e, string(to))
}

// emitRecord prints the record, with the state that follows from the journal.
func (d *deal) emitRecord(ctx context.Context) error {
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if s.Record == nil {
		return kit.BadState("tutti negotiate open RECORD", "the record of %s is gone, and the journal does not hold its terms", kit.Clean(d.id))
	}
	d.Emit(canonjson.Set(slices.Clone(s.Record.Raw), "status", canonjson.AppendString(nil, string(s.State))))
	return nil
}

type statusOptions struct {
	closeOptions
	Status string
}

func runNegotiateStatus(ctx context.Context, c *kit.Call, opt *statusOptions) error {
	to := negotiation.State(c.Arg(1))
	if c.Under == kit.H2A {
		if err := c.Requires(&opt.ID, &opt.Status); err != nil {
			return err
		}
		to = negotiation.State(opt.Status)
	}
	mode := app.Reading
	if to != "" {
		if !slices.Contains(negotiation.States, to) {
			return kit.Usagef("unknown state %q", kit.Clean(string(to)))
		}
		if err := halt.Check("negotiate status"); err != nil {
			return err
		}
		mode = app.Writing
	} else {
		c.Banner(halt.Read())
	}
	d, err := openDeal(c, mode, &opt.ID)
	if err != nil {
		return err
	}
	defer d.close()
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return dealFault(c, err)
	}
	if c.Under == kit.H2A && to != "" && s.State != to && !to.Terminal() {
		c.Warn("the state follows from the journal and is %s: %s was not written", s.State, kit.Clean(string(to)))
		return d.emitRecord(ctx)
	}
	written := s.Record != nil && (s.Record.Status == to || to != negotiation.Expired)
	if to != "" && (s.State != to || !written) {
		if c.Under == kit.H2A {
			return d.moveAsAnybody(ctx, to, &opt.closeOptions)
		}
		return d.move(ctx, to, &opt.closeOptions)
	}
	if c.JSON {
		return d.emitRecord(ctx)
	}
	c.Line(string(s.State))
	return nil
}

// moveAsAnybody is move for the older program, which does not name the agent that moves.
func (d *deal) moveAsAnybody(ctx context.Context, to negotiation.State, opt *closeOptions) error {
	if opt.Instance != "" {
		return d.move(ctx, to, opt)
	}
	s, err := d.Peek(ctx, d.w, "")
	if err != nil {
		return kit.Refuse("", "only a party can set %s; name yours with --instance ID", kit.Clean(string(to)))
	}
	key, err := d.sealKey(ctx, s.Instance, false)
	if err != nil {
		return err
	}
	if _, err := d.bus.Negotiations().Move(ctx, d.id, negotiation.Act{By: s.Instance, Key: key}, to, "", d.now); err != nil {
		return dealFault(d.Call, err)
	}
	return d.emitRecord(ctx)
}

// declaredAt parses the time of --at; "" means now.
func (d *deal) declaredAt(s string) (string, time.Time, error) {
	if s == "" {
		return envelope.Stamp(d.now), d.now, nil
	}
	at, ok := envelope.ParseTime(s)
	if !ok {
		return "", at, kit.Usagef("--at: a time like 2026-01-31T12:00:00.000Z")
	}
	return s, at, nil
}
