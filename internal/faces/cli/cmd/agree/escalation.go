package agree

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/platform/notify"
)

// A matterOptions is the flags of verbs that escalate a question.
type matterOptions struct {
	Options string
	For     time.Duration
}

// terms writes the terms of a question, with those of the flags, into a payload.
func (m *matterOptions) terms(d *deal, t escalation.Terms, payload []byte) ([]byte, error) {
	for _, o := range kit.Split(m.Options) {
		id, text, _ := strings.Cut(o, "=")
		t.Options = append(t.Options, escalation.Option{ID: strings.TrimSpace(id), Text: strings.TrimSpace(cmp.Or(text, id))})
	}
	if d.IsSet(&m.For) {
		if m.For == 0 {
			return nil, kit.UsageHint("--for 30m, 4h", "--for: must be more than 0")
		}
		t.Until = d.now.Add(m.For)
	}
	if len(t.Options) == 0 && t.Question == "" && t.Until.IsZero() && t.Fallback == "" && t.Trigger == "" && t.Domain == "" {
		return payload, nil
	}
	next := t.Payload(payload)
	whole := escalation.TermsOf(next)
	if err := whole.Check(d.now); err != nil {
		return nil, kit.Usagef("%s", kit.Clean(err.Error()))
	}
	return next, nil
}

// onMatters returns the options of a verb about escalations.
func onMatters[T any](mode app.Mode, run func(context.Context, *deal, *T) error) *kit.Options {
	return kit.WithFlags(func(ctx context.Context, c *kit.Call, opt *T) error {
		w, err := c.World(mode)
		if err != nil {
			return err
		}
		defer w.Close()
		if err := w.Pins.Err(); err != nil {
			c.Warn("whose answers count cannot be told now: %s", kit.Clean(err.Error()))
		}
		return run(ctx, &deal{Call: c, w: w, bus: full.Agreements(w), now: time.Now()}, opt)
	})
}

type escalationsOptions struct {
	decisionOptions
	All bool
}

// runEscalations lists the escalations that wait for an answer.
func runEscalations(ctx context.Context, d *deal, opt *escalationsOptions) error {
	all, problems, err := d.bus.Matters().All(ctx)
	if err != nil {
		return err
	}
	for _, p := range problems {
		d.Warn("left out: %s", kit.Clean(p.Error()))
	}
	shown := 0
	out := []escalation.View{}
	for _, m := range all {
		if m.State(d.now) != escalation.Open && !opt.All || opt.Negotiation != "" && m.Negotiation != opt.Negotiation {
			continue
		}
		shown++
		if d.JSON {
			out = append(out, m.View(d.now))
			continue
		}
		d.sayMatter(m, false)
	}
	if d.JSON {
		d.Result(out)
	} else if shown == 0 {
		d.Nothing("no question waits for an answer")
	}
	return nil
}

// runEscalationShow shows one escalation, with its options in neutral order.
func runEscalationShow(ctx context.Context, d *deal, opt *decisionOptions) error {
	m, err := d.matter(ctx, opt.Negotiation)
	if err != nil {
		return err
	}
	if d.JSON {
		d.Result(m.View(d.now))
		return nil
	}
	d.sayMatter(m, true)
	return nil
}

func (d *deal) matter(ctx context.Context, nego string) (*escalation.Escalation, error) {
	if nego != "" {
		m, err := d.bus.Escalation(ctx, nego, d.Arg(0))
		if errors.Is(err, escalation.ErrNone) {
			return nil, kit.BadState("tutti escalation list --all   # what there is", "%s", kit.Clean(err.Error()))
		}
		return m, err
	}
	m, err := d.bus.Matters().Find(ctx, d.Arg(0))
	if many, is := errors.AsType[*escalation.ManyError](err); is {
		return nil, kit.BadState("name the negotiation: tutti escalation show --negotiation "+kit.Clean(app.QuoteArg(many.Of[0]))+" "+kit.Clean(app.QuoteArg(many.ID)), "%s", kit.Clean(err.Error()))
	}
	if errors.Is(err, escalation.ErrNone) {
		return nil, kit.BadState("tutti escalation list --all   # what there is", "%s", kit.Clean(err.Error()))
	}
	return m, err
}

// sayMatter prints an escalation. Unless whole is set, it shortens long texts of other agents.
func (d *deal) sayMatter(m *escalation.Escalation, whole bool) {
	state := m.State(d.now)
	word := d.Paint(kit.Yellow, string(state))
	if state == escalation.Answered {
		word = d.Paint(kit.Green, string(state))
	}
	d.Line(kit.Clean(m.ID) + "  " + kit.Clean(m.Channel) + "  " + word + "  from " + kit.Name(m.By) + ", " + kit.Ago(max(0, d.now.Sub(m.At))))
	about := m.About()
	if !whole {
		about = kit.Truncate(about, kit.TextShown*2)
	}
	d.Prose("  ", 2, kit.Clean(about))
	if text := m.Mismatch(); text != "" {
		d.Prose("  ! ", 4, kit.Clean(text))
	}
	if m.Repeats > 0 {
		d.Prose("  ! ", 4, "its id is also that of "+kit.Plural(m.Repeats, "more line")+" in a journal: this one stands")
	}
	if m.Doubt != "" && m.Answer == nil {
		d.Prose("  ! ", 4, doubtLine(m))
	}
	if whole {
		if m.Negotiation != "" {
			d.Prose("  of:  ", 7, kit.Clean(m.Negotiation+", "+m.Scope))
		}
		d.Prose("  for: ", 7, kit.Clean(cmp.Or(m.Target, "anyone with the authority to decide; none found")+strings.TrimSuffix(" ("+cmp.Or(m.Authority, m.Source)+")", " ()")))
		for _, o := range m.Neutral(m.ID) {
			text := "  - " + o.ID
			if o.Text != o.ID {
				text += ": " + o.Text
			}
			d.Prose("", 4, kit.Clean(text))
		}
	}
	switch {
	case m.Answer != nil:
		text := m.Answer.Text
		if m.Answer.Note != "" {
			text += " (" + m.Answer.Note + ")"
		}
		d.Prose("  answered: ", 12, kit.Clean(text+", by "+string(m.Answer.By)))
	case !m.Until.IsZero():
		tense := "without an answer until "
		if state == escalation.Lapsed {
			tense = "no answer until "
			if m.Doubt != "" {
				tense = "no answer that counts here came until "
			}
		}
		d.Prose("  ", 2, kit.Clean(tense+m.Until.Local().Format("2006-01-02 15:04")+": "+m.Fallback))
	}
	if state == escalation.Open {
		d.Line("  next:  " + answerLine(m))
	}
}

// doubtLine says who answered under a key that is unknown here.
func doubtLine(m *escalation.Escalation) string {
	return kit.Name(m.Doubt) + " answered under the key " + m.DoubtKey.Short() + ", which you have not confirmed as theirs, so it does not count; to confirm it: tutti keys trust " +
		kit.Clean(app.QuoteArg(string(m.Doubt))) + ", with --public-key if it shows another key"
}

// answerLine returns the command that answers an escalation.
func answerLine(m *escalation.Escalation) string {
	line := "tutti escalation answer " + kit.Clean(app.QuoteArg(m.ID))
	if m.Channel != "alert" || len(m.Options) > 0 {
		line += " ANSWER"
	}
	return line
}

type answerOptions struct {
	decisionOptions
	Note, Instance string
}

// runEscalationAnswer records a person's answer.
func runEscalationAnswer(ctx context.Context, d *deal, opt *answerOptions) error {
	m, err := d.matter(ctx, opt.Negotiation)
	if err != nil {
		return err
	}
	return d.answer(ctx, m, d.Arg(1), opt)
}

// answer records a person's answer to an escalation.
func (d *deal) answer(ctx context.Context, m *escalation.Escalation, text string, opt *answerOptions) error {
	d.id = m.Negotiation
	if m.Doubt != "" && m.Answer == nil {
		d.Warn("%s", doubtLine(m))
	}
	const own = "type it in a terminal of your own, outside of any agent program"
	who, err := d.w.Identity.Speak(ctx, kit.FactsOf(d.App), identity.Ask{As: opt.Instance}, d.now)
	if err != nil {
		return kit.WithFlag(err, "--instance")
	}
	attended := who.Role == identity.RolePerson && who.Via != identity.Unattended
	a := negotiation.Act{By: who.Instance}
	if attended {
		if a.Key, err = d.w.Ring.Load(who.Instance); errors.Is(err, keyring.ErrNoKey) {
			return kit.Refuse("tutti keys generate --instance "+app.QuoteArg(string(who.Instance)), "there is no private key of %s here to sign the answer with", kit.Name(who.Instance))
		}
		if err == nil {
			err = d.knowsKey(ctx, who.Instance, a.Key)
		}
		if err != nil {
			return err
		}
	}
	e, err := d.bus.Answer(ctx, m, a, text, opt.Note, attended, d.now)
	switch {
	case errors.Is(err, escalation.ErrNotPerson) && who.How == identity.EnvInstance && !bus.IsPerson(who.Instance) && !d.BelowAgent():
		return kit.Refuse("unset "+identity.EnvInstance+"   # or say who answers: --as human:NAME", "%s is set to %s, so this would be its answer: %s",
			identity.EnvInstance, kit.Name(who.Instance), kit.Clean(err.Error()))
	case errors.Is(err, escalation.ErrNotPerson):
		return kit.Refuse(own, "%s", kit.Clean(err.Error()))
	case errors.Is(err, escalation.ErrClosed), errors.Is(err, escalation.ErrNone):
		return kit.BadState("tutti escalation show "+app.QuoteArg(m.ID), "%s", kit.Clean(err.Error()))
	case err != nil && e == nil && isRule(err):
		return dealFault(d.Call, err)
	case err != nil:
		return kit.Refuse("tutti escalation show "+app.QuoteArg(m.ID)+"   # the question and its options", "%s", kit.Clean(err.Error()))
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
		err = full.TellAnswer(ctx, office, who, m)
	}
	if err != nil {
		d.Warn("no mail could be sent to %s; the answer is in the journal: %s", kit.Name(m.By), kit.Clean(err.Error()))
	} else if err := full.TakeNotice(ctx, office, mail.Reader{Instance: who.Instance, Session: who.Session}, m); err != nil {
		d.Warn("the message that announced the question is still unread: %s", kit.Clean(err.Error()))
	}
	d.announce(ctx, m)
	if d.JSON {
		d.Result(answered{true, m.View(d.now)})
		return nil
	}
	d.sayMatter(m, true)
	return nil
}

// An answered is what --json says of an escalation that was answered.
type answered struct {
	OK bool `json:"ok"`
	escalation.View
}

// A settled is what --json says of escalations whose fallback applies.
type settled struct {
	OK      bool              `json:"ok"`
	Settled []escalation.View `json:"settled"`
}

// announce shows a desktop notice that the user has answered, so that a process cannot answer for the user unseen. Many machines have no
// desktop.
func (d *deal) announce(ctx context.Context, m *escalation.Escalation) {
	if m.Answer == nil {
		return
	}
	_, _ = notify.Desktop{Env: kit.FactsOf(d.App).Env}.Say(ctx, "You answered "+kit.Name(m.By),
		kit.Clean(m.About()+": "+m.Answer.Text)+"\nIf this was not you: tutti halt")
}

// isRule reports whether a rule of negotiations refuses, rather than that a file could not be read or written.
func isRule(err error) bool {
	var refused *negotiation.RefusedError
	return errors.As(err, &refused) || errors.Is(err, negotiation.ErrTerms) || errors.Is(err, negotiation.ErrNotFound)
}

type settleOptions struct{ Instance string }

// runEscalationSettle records the fallback of every escalation that was not answered in time.
func runEscalationSettle(ctx context.Context, d *deal, opt *settleOptions) error {
	who, err := d.Actor(ctx, d.w, opt.Instance)
	if err != nil {
		return err
	}
	// Without a seal an entry of a person looks as if another had written it.
	key, err := d.sealKey(ctx, who, who.Canonical().Host() == identity.Human)
	if f, ok := errors.AsType[*kit.Fault](err); ok {
		return kit.Refuse("--instance ID names an agent whose key is here, who writes it down", "%s", f.Error())
	}
	if err != nil {
		return err
	}
	a := negotiation.Act{By: who, Key: key}
	done, problems, err := d.bus.Settle(ctx, a, &escalation.Ends{}, d.now)
	if err == nil && len(done) == 0 {
		err = errors.Join(problems...)
	}
	if err != nil {
		return dealFault(d.Call, err)
	}
	for _, err := range problems {
		d.Warn("%s", kit.Clean(err.Error()))
	}
	if d.JSON {
		d.Result(settled{true, render.Each(done, func(m *escalation.Escalation) escalation.View { return m.View(d.now) })})
		return nil
	}
	if len(done) == 0 {
		d.Nothing("nothing has passed its end without being recorded")
	}
	for _, m := range done {
		d.Line("recorded: " + kit.Clean(m.ID) + ": " + kit.Clean(m.Fallback))
	}
	return nil
}
