package full

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mail"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/journal"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// How a question that waits is looked at: when its journal changes, and at least this often, as its end is no change.
const lookAtQuestion = time.Second

// AwaitAnswer waits until a question is no longer open, and returns it as it stands then. A halt, the end of the context or a fault ends
// the wait; the question stays, and is returned as it was seen last.
func AwaitAnswer(ctx context.Context, a *app.App, w *app.World, bus *agreement.Bus, m *escalation.Escalation) (*escalation.Escalation, error) {
	look, unlook := a.HaltLook()
	defer unlook()
	ctx, unhalt := halt.Context(ctx, look)
	defer unhalt()
	key, err := journal.KeyOf(m.Negotiation)
	if err != nil {
		return m, err
	}
	changes, err := w.Store.Watch(ctx, []store.Scope{{Kind: key.Kind, Owner: key.Owner, Name: key.Name}})
	if err != nil {
		changes = nil // then the clock has to do
	}
	tick := time.NewTicker(lookAtQuestion)
	defer tick.Stop()
	for {
		now, err := bus.Escalation(ctx, m.Negotiation, m.ID)
		if err == nil {
			m = now
		}
		switch {
		case ctx.Err() != nil:
			return m, context.Cause(ctx)
		case err != nil:
			return m, err
		case m.State(time.Now()) != escalation.Open:
			return m, nil
		}
		select {
		case _, open := <-changes:
			if !open {
				changes = nil
			}
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// TakeAnswer acknowledges the message that tells of an answer which the reader has seen already, so that it is not shown a second
// time. It is written a moment after the answer, and waited for no longer than that.
func TakeAnswer(ctx context.Context, office *mail.Service, r mail.Reader, m *escalation.Escalation) error {
	for end := time.Now().Add(lookAtQuestion); m.Answer != nil && time.Now().Before(end); {
		unread, _, err := office.Mail.Read(ctx, r.Instance)
		if err != nil {
			return err
		}
		for _, one := range unread {
			of, _ := canonjson.Get(one.Envelope.Body, "escalation")
			if one.Envelope.Kind() == escalation.AnswerKind && canonjson.Is(of, m.ID) {
				_, err := office.Ack(ctx, r, []string{one.ID})
				return err
			}
		}
		select {
		case <-time.After(lookAtQuestion / 20):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
