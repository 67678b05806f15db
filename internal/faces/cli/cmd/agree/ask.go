package agree

import (
	"context"
	"errors"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/platform/notify"
)

type askOptions struct {
	matterOptions
	Default, As string
	Wait        time.Duration
	NoWait      bool
}

// runAsk puts a question to the user, and prints the answer.
func runAsk(ctx context.Context, d *deal, opt *askOptions) error {
	if d.IsSet(&opt.Wait) && opt.Wait == 0 {
		return kit.UsageHint("--wait 30s, 10m", "--wait: must be more than 0")
	}
	if d.IsSet(&opt.For) && opt.Default == "" {
		return kit.UsageHint("--default ANSWER", "--for says how long the question stands; --default says what applies then")
	}
	payload, err := opt.terms(d, escalation.Terms{Question: d.Arg(0), Fallback: opt.Default}, nil)
	if err != nil {
		return err
	}
	from, err := d.w.Identity.Speak(ctx, kit.FactsOf(d.App), identity.Ask{As: opt.As}, d.now)
	if err != nil {
		return kit.WithFlag(err, "--as")
	}
	if from.Role == identity.RolePerson {
		return kit.Refuse("tutti send AGENT TEXT asks an agent", "ask is for agents: it puts a question to you")
	}
	a := negotiation.Act{By: from.Instance}
	if a.Key, err = d.sealKey(ctx, from.Instance, false); err != nil {
		return err
	}
	m, err := d.bus.Ask(ctx, a, from.Scope, escalation.TermsOf(payload), d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	d.id = m.Negotiation
	d.tellUser(ctx, from, m)
	if !opt.NoWait {
		if m, err = d.await(ctx, opt.Wait, from, m); err != nil {
			return err
		}
	}
	return d.sayAsked(m, opt.NoWait)
}

// tellUser notifies the user of a question: by mail if a person is registered, and by a desktop notice.
func (d *deal) tellUser(ctx context.Context, from *identity.Speaker, m *escalation.Escalation) {
	office, err := d.w.MailService()
	if err == nil {
		_, err = full.TellMatter(ctx, d.bus, office, from, m.Negotiation, m.ID)
	}
	if err != nil {
		d.Warn("the question stands, but no mail tells of it: %s", kit.Clean(err.Error()))
	}
	full.NoticeMatter(ctx, d.w, notify.Desktop{Env: kit.FactsOf(d.App).Env}, m)
}

// await waits for the answer to a question, without a limit if wait is 0.
func (d *deal) await(ctx context.Context, wait time.Duration, from *identity.Speaker, m *escalation.Escalation) (*escalation.Escalation, error) {
	if d.ErrColumns > 0 {
		d.Remark("waiting for your user, who answers with: tutti answer ANSWER")
	}
	waiting := ctx
	if wait > 0 {
		var stop context.CancelFunc
		waiting, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	m, err := full.AwaitAnswer(waiting, d.App, d.w, d.bus, m)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil // the question stays open, and sayAsked says so
	}
	if err == nil && m.Answer != nil {
		err = d.takeAnswer(ctx, from, m)
	}
	return m, err
}

func (d *deal) takeAnswer(ctx context.Context, from *identity.Speaker, m *escalation.Escalation) error {
	office, err := d.w.MailService()
	if err != nil {
		return err
	}
	return full.TakeAnswer(ctx, office, mail.Reader{Instance: from.Instance, Session: from.Session}, m)
}

// sayAsked prints only the answer, so that a script can use it. If the question is still open, it prints its id.
func (d *deal) sayAsked(m *escalation.Escalation, noWait bool) error {
	asked := agreement.AskedOf(m, time.Now())
	open := m.State(time.Now()) == escalation.Open
	switch {
	case d.JSON:
		d.Result(asked)
	case open:
		d.Line(kit.Clean(m.ID))
	default:
		d.Line(kit.Clean(asked.Answer))
	}
	if !open && m.Answer == nil {
		d.Remark("no answer came in time: this is the default")
	}
	if open && !noWait {
		return kit.BadState("the answer will come as mail; tutti escalation show "+app.QuoteArg(m.ID), "not answered yet")
	}
	return nil
}

// runAnswer is like runEscalationAnswer, but needs no id if only one question is open.
func runAnswer(ctx context.Context, d *deal, opt *answerOptions) error {
	if d.Arg(1) != "" {
		return runEscalationAnswer(ctx, d, opt)
	}
	all, _, err := d.bus.Matters().All(ctx)
	if err != nil {
		return err
	}
	var open []*escalation.Escalation
	for _, m := range all {
		if m.State(d.now) == escalation.Open && m.Channel != "alert" {
			open = append(open, m)
		}
	}
	switch len(open) {
	case 0:
		return kit.BadState("tutti escalation list --all   # what was asked before", "no question is open")
	case 1:
		return d.answer(ctx, open[0], d.Arg(0), opt)
	}
	for _, m := range open {
		d.Line("tutti answer " + kit.Clean(app.QuoteArg(m.ID)) + " ANSWER   # " + kit.Clean(kit.Truncate(m.About()+m.Choices(), kit.TextShown)))
	}
	return kit.Refuse("one of the lines above", "%d questions are open: name the one that you answer", len(open))
}
