package full

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/journal"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// How to wait for an answer: look when the journal changes, and at least this often, as the end of a question is not a change.
const lookAtQuestion = time.Second

// AwaitAnswer waits until a question is no longer open, and returns its final state. A halt, the end of the context or a fault
// ends the wait; the question stays, and is returned as it was seen last.
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

// maxAnnounced is how many messages about questions are looked at.
const maxAnnounced = 100

// Announced returns the ids of the questions that some of these messages announce.
func Announced(ctx context.Context, box *mailbox.Mailbox, unread []*mailbox.Message) (ids []string) {
	eachNotice(ctx, box, unread, func(_ *mailbox.Message, question string) { ids = append(ids, question) })
	return ids
}

// eachNotice calls each with every message that announces a question, and the id of the question.
func eachNotice(ctx context.Context, box *mailbox.Mailbox, unread []*mailbox.Message, each func(m *mailbox.Message, question string)) {
	n := 0
	for _, m := range unread {
		if m.Summary.Kind != escalation.NoticeKind || n == maxAnnounced {
			continue
		}
		n++
		if box.Load(ctx, m) != nil { // it went away meanwhile
			continue
		}
		of, _ := canonjson.Get(m.Envelope.Body, "escalation")
		if id, err := canonjson.String(of); err && id != "" {
			each(m, id)
		}
	}
}

// TakeNotice acknowledges the messages that announced a question to the person who has answered it.
func TakeNotice(ctx context.Context, office *mail.Service, r mail.Reader, m *escalation.Escalation) error {
	unread, _, _, err := office.Mail.Oldest(ctx, r.Instance, maxAnnounced, mailbox.Query{Unread: true})
	if err != nil {
		return err
	}
	var ids []string
	eachNotice(ctx, office.Mail, unread, func(one *mailbox.Message, question string) {
		if question == m.ID {
			ids = append(ids, one.ID)
		}
	})
	if len(ids) == 0 {
		return nil
	}
	_, err = office.Ack(ctx, r, ids)
	return err
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
