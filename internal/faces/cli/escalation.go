package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// matterTerms writes what the flags say into the payload of a matter.
func (c *Call) matterTerms(payload []byte, now time.Time) ([]byte, error) {
	t := escalation.Terms{Question: c.value("question"), Fallback: c.value("fallback"), Trigger: c.value("trigger"), Domain: c.value("domain")}
	for _, o := range split(c.value("options")) {
		id, text, _ := strings.Cut(o, "=")
		t.Options = append(t.Options, escalation.Option{ID: strings.TrimSpace(id), Text: strings.TrimSpace(cmp.Or(text, id))})
	}
	if c.value("for") != "" {
		d, err := time.ParseDuration(c.value("for"))
		if err != nil || d <= 0 {
			return nil, usageHint("--for 30m, 4h", "--for: a time, not %s", Clean(c.value("for")))
		}
		t.Until = now.Add(d)
	}
	if len(t.Options) == 0 && t.Question == "" && t.Until.IsZero() && t.Fallback == "" && t.Trigger == "" && t.Domain == "" {
		return payload, nil
	}
	next := t.Payload(payload)
	whole := escalation.TermsOf(next)
	if err := whole.Check(now); err != nil {
		return nil, usagef("%s", Clean(err.Error()))
	}
	return next, nil
}

// matters opens the bus for a verb about what waits for somebody.
func (c *Call) matters(mode app.Mode) (*deal, error) {
	d := &deal{Call: c, now: time.Now()}
	var err error
	if d.w, err = c.world(mode); err != nil {
		return d, err
	}
	d.bus = d.w.Agreements()
	if err := d.w.Pins.Err(); err != nil {
		c.warn("whose answers count cannot be told now: %s", Clean(err.Error()))
	}
	return d, nil
}

// runEscalations lists what waits for somebody.
func runEscalations(ctx context.Context, c *Call) error {
	d, err := c.matters(app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	all, problems, err := d.bus.Matters().All(ctx)
	if err != nil {
		return err
	}
	for _, p := range problems {
		c.warn("left out: %s", Clean(p.Error()))
	}
	nego := c.value("negotiation")
	shown := 0
	var out list
	for _, m := range all {
		if m.State(d.now) != escalation.Open && !c.on("all") || nego != "" && m.Negotiation != nego {
			continue
		}
		shown++
		if c.json {
			out.raw(m.JSON(d.now))
			continue
		}
		d.sayMatter(m, false)
	}
	if c.json {
		c.emit(out.bytes())
	} else if shown == 0 {
		c.nothing("nothing waits for anybody")
	}
	return nil
}

// runEscalationShow shows one matter, with its options in neutral order.
func runEscalationShow(ctx context.Context, c *Call) error {
	d, err := c.matters(app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	m, err := d.matter(ctx)
	if err != nil {
		return err
	}
	if c.json {
		c.emit(m.JSON(d.now))
		return nil
	}
	d.sayMatter(m, true)
	return nil
}

func (d *deal) matter(ctx context.Context) (*escalation.Escalation, error) {
	if nego := d.value("negotiation"); nego != "" {
		m, err := d.bus.Escalation(ctx, nego, d.arg(0))
		if errors.Is(err, escalation.ErrNone) {
			return nil, badState("tutti escalation list --all   # what there is", "%s", Clean(err.Error()))
		}
		return m, err
	}
	m, err := d.bus.Matters().Find(ctx, d.arg(0))
	if many, is := errors.AsType[*escalation.ManyError](err); is {
		return nil, badState("name the negotiation: tutti escalation show --negotiation "+Clean(app.QuoteArg(many.Of[0]))+" "+Clean(app.QuoteArg(many.ID)), "%s", Clean(err.Error()))
	}
	if errors.Is(err, escalation.ErrNone) {
		return nil, badState("tutti escalation list --all   # what there is", "%s", Clean(err.Error()))
	}
	return m, err
}

// sayMatter prints a matter. What others have written is cut to what a screen takes unless all of it is wanted.
func (d *deal) sayMatter(m *escalation.Escalation, whole bool) {
	state := m.State(d.now)
	word := d.paint(yellow, string(state))
	if state == escalation.Answered {
		word = d.paint(green, string(state))
	}
	d.line(Clean(m.ID) + "  " + Clean(m.Channel) + "  " + word + "  from " + Clean(string(m.By)) + ", " + ago(max(0, d.now.Sub(m.At))))
	about := m.About()
	if !whole {
		about = Truncate(about, textShown*2)
	}
	d.prose("  ", 2, Clean(about))
	if text := m.Mismatch(); text != "" {
		d.prose("  ! ", 4, Clean(text))
	}
	if m.Repeats > 0 {
		d.prose("  ! ", 4, "its id is also that of "+plural(m.Repeats, "more line")+" in a journal: this one stands")
	}
	if m.Doubt != "" && m.Answer == nil {
		d.prose("  ! ", 4, doubtLine(m))
	}
	if whole {
		if m.Negotiation != "" {
			d.prose("  of:  ", 7, Clean(m.Negotiation+", "+m.Scope))
		}
		d.prose("  for: ", 7, Clean(cmp.Or(m.Target, "whoever may decide; nobody was found")+strings.TrimSuffix(" ("+cmp.Or(m.Authority, m.Source)+")", " ()")))
		for _, o := range m.Neutral(m.ID) {
			text := "  - " + o.ID
			if o.Text != o.ID {
				text += ": " + o.Text
			}
			d.prose("", 4, Clean(text))
		}
	}
	switch {
	case m.Answer != nil:
		text := m.Answer.Text
		if m.Answer.Note != "" {
			text += " (" + m.Answer.Note + ")"
		}
		d.prose("  answered: ", 12, Clean(text+", by "+string(m.Answer.By)))
	case !m.Until.IsZero():
		tense := "without an answer until "
		if state == escalation.Lapsed {
			tense = "nobody has answered until "
			if m.Doubt != "" {
				tense = "no answer that counts here came until "
			}
		}
		d.prose("  ", 2, Clean(tense+m.Until.Local().Format("2006-01-02 15:04")+": "+m.Fallback))
	}
	if state == escalation.Open {
		d.line("  next:  " + answerLine(m))
	}
}

// doubtLine says who has answered under a key of which nothing is known here.
func doubtLine(m *escalation.Escalation) string {
	return Clean(string(m.Doubt)) + " has answered under the key " + m.DoubtKey.Short() + ", which nobody has said here to be theirs, and which does not count; if it is: tutti keys trust " +
		Clean(app.QuoteArg(string(m.Doubt))) + ", with --public-key where it shows another key"
}

// answerLine is what to type to answer a matter.
func answerLine(m *escalation.Escalation) string {
	line := "tutti escalation answer " + Clean(app.QuoteArg(m.ID))
	if m.Channel != "alert" || len(m.Options) > 0 {
		line += " ANSWER"
	}
	return line
}

// runEscalationAnswer writes down what a person decides.
func runEscalationAnswer(ctx context.Context, c *Call) error {
	d, err := c.matters(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	m, err := d.matter(ctx)
	if err != nil {
		return err
	}
	d.id = m.Negotiation
	if m.Doubt != "" && m.Answer == nil {
		d.warn("%s", doubtLine(m))
	}
	const own = "type it in a terminal of your own, outside of any agent program"
	who, err := d.w.Identity.Speak(ctx, factsOf(c.App), identity.Ask{As: c.value("instance")}, d.now)
	if err != nil {
		return withFlag(err, "--instance")
	}
	attended := who.Role == identity.RolePerson && who.Via == ""
	a := negotiation.Act{By: who.Instance}
	if attended {
		if a.Key, err = d.w.Ring.Load(who.Instance); errors.Is(err, keyring.ErrNoKey) {
			return refuse("tutti keys generate --instance "+app.QuoteArg(string(who.Instance)), "there is no private key of %s here to sign the answer with", Clean(string(who.Instance)))
		}
		if err == nil {
			err = d.knowsKey(ctx, who.Instance, a.Key)
		}
		if err != nil {
			return err
		}
	}
	e, err := d.bus.Answer(ctx, m, a, c.arg(1), c.value("note"), attended, d.now)
	switch {
	case errors.Is(err, escalation.ErrNotPerson):
		return refuse(own, "%s", Clean(err.Error()))
	case errors.Is(err, escalation.ErrClosed), errors.Is(err, escalation.ErrNone):
		return badState("tutti escalation show "+app.QuoteArg(m.ID), "%s", Clean(err.Error()))
	case err != nil && e == nil && isRule(err):
		return c.dealFault(err)
	case err != nil:
		return refuse("tutti escalation show "+app.QuoteArg(m.ID)+"   # the question and its options", "%s", Clean(err.Error()))
	}
	if m.Negotiation == "" {
		m, err = d.bus.Matters().Find(ctx, m.ID)
	} else {
		m, err = d.bus.Escalation(ctx, m.Negotiation, m.ID)
	}
	if err != nil {
		return err
	}
	office, err := d.w.MailService()
	if err == nil {
		err = app.TellAnswer(ctx, office, who, m)
	}
	if err != nil {
		c.warn("%s was not told by mail, the answer stands in the journal: %s", Clean(string(m.By)), Clean(err.Error()))
	}
	if c.json {
		c.emit(okWith(m.JSON(d.now)))
		return nil
	}
	d.sayMatter(m, true)
	return nil
}

// isRule tells whether a refusal is one of the rules of negotiations, or trouble with the disk.
func isRule(err error) bool {
	var refused *negotiation.RefusedError
	return errors.As(err, &refused) || errors.Is(err, negotiation.ErrTerms) || errors.Is(err, negotiation.ErrNotFound)
}

// runEscalationSettle records what applies because nobody has answered.
func runEscalationSettle(ctx context.Context, c *Call) error {
	d, err := c.matters(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	a, err := d.act(ctx, false)
	if err != nil {
		return err
	}
	done, problems, err := d.bus.Settle(ctx, a, &escalation.Ends{}, d.now)
	if err == nil && len(done) == 0 {
		err = errors.Join(problems...)
	}
	if err != nil {
		return c.dealFault(err)
	}
	for _, err := range problems {
		c.warn("%s", Clean(err.Error()))
	}
	if c.json {
		var all list
		for _, m := range done {
			all.raw(m.JSON(d.now))
		}
		var o canonjson.Object
		o.Bool("ok", true)
		o.Raw("settled", all.bytes())
		c.emit(o.Bytes())
		return nil
	}
	if len(done) == 0 {
		c.nothing("nothing has passed its end without being recorded")
	}
	for _, m := range done {
		c.line("recorded: " + Clean(m.ID) + ": " + Clean(m.Fallback))
	}
	return nil
}
