package full

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/platform/notify"
)

// TellMatter sends a matter to its receivers, by ordinary mail of the agent that raised it. told are those that have it then;
// none is a valid result, as a matter may be for any person who looks.
func TellMatter(ctx context.Context, bus *agreement.Bus, office *mail.Service, from *identity.Speaker, negotiation, id string) (told []address.Instance, err error) {
	m, err := bus.Escalation(ctx, negotiation, id)
	if err != nil {
		return nil, fmt.Errorf("tell of it: %w", err)
	}
	to, err := bus.Recipients(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("tell of it: %w", err)
	}
	var errs []error
	for _, who := range to {
		l := mail.Draft{From: from, To: who, Kind: escalation.NoticeKind, Text: m.Notice(), Body: m.NoticeBody(), Deposit: true, Unsigned: true}
		r, err := office.Send(ctx, l)
		if errs = append(errs, err); err == nil {
			told = append(told, r.To)
		}
	}
	return told, errors.Join(errs...)
}

// NoticeMatter shows the user a notice of a question at their desktop. Where tutti up looks after the bus that does it, so that there is one
// notice; the settings can turn both off.
func NoticeMatter(ctx context.Context, w *app.World, desktop notify.Desktop, m *escalation.Escalation) {
	if set, err := w.App.Wake(); err == nil && !(set.Enabled && set.Desktop) || app.RunningUp(w.App, w.Root.Path) != nil {
		return
	}
	_, _ = desktop.Say(ctx, address.Shown(string(m.By))+" asks you", m.About()) // many machines have no desktop
}

// TellAnswer notifies the agent that raised a matter of the answer, by mail of the person who answers.
func TellAnswer(ctx context.Context, office *mail.Service, from *identity.Speaker, m *escalation.Escalation) error {
	if m.Answer == nil || m.Negotiation == "" || address.Check(string(m.By)) != nil || m.By.Canonical() == from.Instance.Canonical() {
		return nil
	}
	_, err := office.Send(ctx, mail.Draft{From: from, To: m.By, Kind: escalation.AnswerKind, Text: m.AnswerNotice(), Body: m.NoticeBody(), Deposit: true, Unsigned: true})
	return err
}
