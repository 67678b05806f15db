package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/halt"
	"tutti/internal/identity"
	"tutti/internal/negotiation"
	"tutti/internal/profile"
)

func itoa(n int) string { return strconv.Itoa(n) }

func runNegotiateOpen(ctx context.Context, c *Call) error {
	raw, err := c.record(ctx)
	if err != nil {
		return err
	}
	d, err := c.dealOf(app.Writing, "")
	if err != nil {
		return err
	}
	defer d.close()
	var who address.Instance
	if c.under != H2A {
		if s, err := c.subject(ctx, d.w); err == nil {
			who = s
		} else if c.value("instance") != "" {
			return err
		}
	}
	r, err := d.bus.Open(ctx, raw, who, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	if c.json {
		c.emit(r.Raw)
		return nil
	}
	d.id = r.ID
	c.line("opened " + Clean(r.ID))
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err == nil {
		d.next(s.Next)
	}
	return nil
}

// record is that of the negotiation to be opened: as it was given, or made of flags.
func (c *Call) record(ctx context.Context) ([]byte, error) {
	arg := c.arg(0)
	if c.under == H2A {
		if arg = c.value("json"); arg == "" {
			return nil, c.missing("json")
		}
	}
	var made []string
	for _, name := range []string{"id", "scope", "subject", "parties", "signers", "quorum", "deadline"} {
		if c.under != H2A && c.isSet(name) {
			made = append(made, "--"+name)
		}
	}
	switch {
	case arg != "" && len(made) > 0:
		return nil, usagef("%s: either a record, or flags that make one (%s)", c.Verb.Name, strings.Join(made, " "))
	case arg != "":
		return c.document(ctx, arg, "the record")
	}
	for _, name := range []string{"id", "subject", "parties"} {
		if c.value(name) == "" {
			return nil, c.missing(name)
		}
	}
	parties := commaList(c.value("parties"))
	signers := parties
	if s := c.value("signers"); s != "" {
		signers = commaList(s)
	}
	scope := c.value("scope")
	if scope == "" {
		scope = identity.DefaultScope
	}
	var o canonjson.Object
	o.Str("id", c.value("id"))
	o.Str("scope", scope)
	o.Str("subject", c.value("subject"))
	o.Str("status", string(negotiation.Draft))
	o.Strs("parties", parties)
	o.Strs("requiredSigners", signers)
	o.Opt("deadline", c.value("deadline"))
	if c.isSet("quorum") {
		o.Within("authority", func(o *canonjson.Object) {
			o.Str("kind", "AUTHORITY")
			o.Str("id", c.value("id")+"/quorum")
			o.Str("authorityKind", "quorum")
			o.Strs("members", signers)
			o.Int("threshold", int64(c.count("quorum", 0)))
		})
	}
	return o.End(), nil
}

// commaList are the words between commas.
func commaList(s string) []string {
	var out []string
	for w := range strings.SplitSeq(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func runNegotiateOffer(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	raw, hash, err := d.artifact(ctx)
	if err != nil {
		return err
	}
	if raw == nil {
		return usagef("%s: the artifact itself is offered, not its hash", c.Verb.Name)
	}
	a, err := d.act(ctx, false)
	if err != nil {
		return err
	}
	o := negotiation.Offering{Artifact: raw, Base: c.value("base"), Force: c.on("force")}
	if c.under == H2A {
		o.Base = negotiation.LatestBase
	}
	n, err := d.bus.For(ctx, profile.Offer, a.By)
	if err != nil {
		return choiceFault(err)
	}
	act, word := n.Offer, "offered "
	if c.Verb.Name == "negotiate counter" {
		act, word = n.Counter, "countered with "
	}
	e, err := act(ctx, d.id, a, o, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	return d.said(ctx, e, word+hash)
}

func runNegotiateSign(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	_, hash, err := d.artifact(ctx)
	if err != nil {
		return err
	}
	a, err := d.act(ctx, true)
	if err != nil {
		return err
	}
	step, word := profile.Sign, "signed "
	if c.Verb.Name == "negotiate accept" {
		step, word = profile.Accept, "accepted and signed "
	}
	n, err := d.bus.For(ctx, step, a.By)
	if err != nil {
		return choiceFault(err)
	}
	act := n.Sign
	if step == profile.Accept {
		act = n.Accept
	}
	e, err := act(ctx, d.id, a, hash, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	return d.said(ctx, e, word+textOf(e.Body, "artifactHash"))
}

// textOf is a member that is a text, "" for any other.
func textOf(raw []byte, name string) string {
	v, _ := canonjson.Get(raw, name)
	s, _ := canonjson.String(v)
	return s
}

func runNegotiateClose(ctx context.Context, c *Call) error {
	to := negotiation.Rejected
	if c.Verb.Name == "negotiate withdraw" {
		to = negotiation.Withdrawn
	}
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	return d.move(ctx, to)
}

func (d *deal) move(ctx context.Context, to negotiation.State) error {
	a, err := d.act(ctx, false)
	if err != nil {
		return err
	}
	e, err := d.bus.Negotiations().Move(ctx, d.id, a, to, d.value("reason"), d.now)
	if err != nil {
		return d.dealFault(err)
	}
	if d.Verb.Name == "negotiate status" && d.json {
		return d.emitRecord(ctx)
	}
	return d.said(ctx, e, string(to))
}

// emitRecord prints the record with the state as it is told from the journal.
func (d *deal) emitRecord(ctx context.Context) error {
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return d.dealFault(err)
	}
	if s.Record == nil {
		return badState("tutti negotiate open RECORD", "the record of %s is gone, and the journal does not hold its terms", Clean(d.id))
	}
	d.emit(canonjson.Set(slices.Clone(s.Record.Raw), "status", canonjson.AppendString(nil, string(s.State))))
	return nil
}

func runNegotiateStatus(ctx context.Context, c *Call) error {
	to := negotiation.State(c.arg(1))
	if c.under == H2A {
		if to = negotiation.State(c.value("status")); to == "" {
			return c.missing("status")
		}
	}
	mode := app.Reading
	if to != "" {
		if !slices.Contains(negotiation.States, to) {
			return usagef("unknown state %q", Clean(string(to)))
		}
		if err := halt.Check("negotiate status"); err != nil {
			return err
		}
		mode = app.Writing
	} else {
		c.banner(halt.Read())
	}
	d, err := c.deal(mode)
	if err != nil {
		return err
	}
	defer d.close()
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	written := s.Record != nil && (s.Record.Status == to || to != negotiation.Expired)
	if to != "" && (s.State != to || !written) {
		if c.under == H2A {
			return d.moveAsAnybody(ctx, to)
		}
		return d.move(ctx, to)
	}
	if c.json {
		return d.emitRecord(ctx)
	}
	c.line(string(s.State))
	return nil
}

// moveAsAnybody is move for the older program, which does not say who moves.
func (d *deal) moveAsAnybody(ctx context.Context, to negotiation.State) error {
	if d.value("instance") != "" {
		return d.move(ctx, to)
	}
	s, err := d.peek(ctx, d.w)
	if err != nil {
		return refuse("", "%s is set by a party, and nobody speaks here: --instance ID says who", Clean(string(to)))
	}
	key, err := d.sealKey(ctx, s.Instance, false)
	if err != nil {
		return err
	}
	if _, err := d.bus.Negotiations().Move(ctx, d.id, negotiation.Act{By: s.Instance, Key: key}, to, "", d.now); err != nil {
		return d.dealFault(err)
	}
	return d.emitRecord(ctx)
}

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
		return hintInstead(f, steps(d.id, s.Next)[0])
	}
	return f
}

func instanceTexts(all []address.Instance) []string {
	out := make([]string, len(all))
	for n, i := range all {
		out[n] = string(i)
	}
	return out
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

func runNegotiateEvent(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	arg := c.arg(1)
	if c.under == H2A {
		if arg = c.value("json"); arg == "" {
			return c.missing("json")
		}
	}
	raw, err := c.document(ctx, arg, "the entry")
	if err != nil {
		return err
	}
	if !canonjson.IsObject(raw) {
		return refuse("", "the entry is no JSON object")
	}
	a, raw, err := d.fillEntry(ctx, raw)
	if err != nil {
		return err
	}
	e, err := d.bus.Negotiations().Event(ctx, d.id, a, raw, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	if c.json {
		c.emit(e.Raw)
		return nil
	}
	c.line("added entry " + itoa(e.Sequence) + " to " + Clean(d.id))
	return nil
}

// fillEntry adds what an entry lacks. What it names itself stays.
func (d *deal) fillEntry(ctx context.Context, raw []byte) (negotiation.Act, []byte, error) {
	var a negotiation.Act
	tip, err := d.bus.Negotiations().Journal().Catch(ctx, d.id, nil)
	if err != nil {
		return a, nil, d.dealFault(err)
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
		if a.Key, err = d.sealKey(ctx, a.By, false); err != nil {
			return a, nil, err
		}
	}
	fill("id", address.NewEvent("event", d.now))
	fill("type", "event")
	fill("createdAt", envelope.Stamp(d.now))
	fill("negotiationId", d.id)
	fill("causationId", orElse(d.value("causation-id"), tip.ID))
	fill("correlationId", orElse(d.value("correlation-id"), tip.CorrelationID))
	return a, raw, nil
}

// subjectOr is subject; under h2a, where nobody is asked, what is missing is said.
func (d *deal) subjectOr(ctx context.Context, missing string) (address.Instance, error) {
	if d.under == H2A {
		return "", refuse("", "%s", missing)
	}
	return d.subject(ctx, d.w)
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// declaredAt is the time of --at, now when none was given.
func (d *deal) declaredAt() (string, time.Time, error) {
	s := d.value("at")
	if s == "" {
		return envelope.Stamp(d.now), d.now, nil
	}
	at, ok := envelope.ParseTime(s)
	if !ok {
		return "", at, usagef("--at: a time like 2026-01-31T12:00:00.000Z")
	}
	return s, at, nil
}
