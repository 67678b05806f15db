package mail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Question is a message of an agent that has no answer yet.
type Question struct {
	ID      string           `json:"id"`
	From    address.Instance `json:"from"`
	To      address.Instance `json:"to"`
	Thread  string           `json:"thread,omitempty"`
	At      string           `json:"at"`
	Age     int64            `json:"ageSeconds"`    // seconds since then
	Preview string           `json:"preview"`       // how its text begins
	Bus     string           `json:"bus,omitempty"` // the folder of the bus, if it is another one than that of the working directory

	Sent time.Time `json:"-"`
}

// Unanswered returns the messages that an agent sent and that its recipients have not answered, oldest first. Its own replies and
// its notices do not count. The recipient answers by a message that names the other one, or by a later one in its thread.
func (o *Service) Unanswered(ctx context.Context, who address.Instance) (all []Question, err error) {
	received, err := o.received(ctx, who)
	if err != nil {
		return nil, fmt.Errorf("find what %s was not answered: %w", who, err)
	}
	now := o.Now()
	for m, err := range o.Mail.Rows(ctx, store.Outbox, who.Mailbox()) {
		if err != nil {
			return nil, fmt.Errorf("find what %s was not answered: %w", who, err)
		}
		s := &m.Summary
		answers := func(a *mailbox.Message) bool {
			return meant(a.Summary.Actor.Instance, s.Target) && (a.Summary.ReplyTo == s.ID || a.Order > m.Order)
		}
		if s.ReplyTo != "" || s.Kind != "" && s.Kind != "message" && s.Kind != "question" || slices.ContainsFunc(received[s.ID], answers) ||
			s.ThreadID != "" && slices.ContainsFunc(received[envelope.ThreadKey+s.ThreadID], answers) {
			continue
		}
		sent := time.UnixMilli(m.Order)
		all = append(all, Question{
			ID: s.ID, From: who, To: s.Target, Thread: s.ThreadID, At: envelope.Stamp(sent), Age: int64(max(0, now.Sub(sent)).Seconds()),
			Preview: s.Preview, Sent: sent,
		})
	}
	SortQuestions(all)
	return all, nil
}

// SortQuestions puts the oldest first.
func SortQuestions(all []Question) {
	slices.SortStableFunc(all, func(a, b Question) int { return cmp.Or(a.Sent.Compare(b.Sent), cmp.Compare(a.ID, b.ID)) })
}

// received returns the messages that an agent received, by the id that each answers and by their threads.
func (o *Service) received(ctx context.Context, who address.Instance) (map[string][]*mailbox.Message, error) {
	sources, err := o.Mail.Sources(ctx, who)
	if err != nil {
		return nil, err
	}
	by := map[string][]*mailbox.Message{}
	for _, kind := range []store.Kind{store.Inbox, store.Archive} {
		for i := range sources {
			for m, err := range o.Mail.Rows(ctx, kind, sources[i].Owner) {
				if err != nil {
					return nil, err
				}
				if id := m.Summary.ReplyTo; id != "" {
					by[id] = append(by[id], m)
				}
				if id := m.Summary.ThreadID; id != "" {
					by[envelope.ThreadKey+id] = append(by[envelope.ThreadKey+id], m)
				}
			}
		}
	}
	return by, nil
}
