package search

import (
	"context"
	"errors"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A listJudge is that of [mail.Service.ListJudge].
type listJudge func(context.Context, store.Key, *envelope.Summary) (trust.Verdict, error)

// bus looks through what the readers got: their mailboxes and what they took.
func (s *search) bus(ctx context.Context) (hits []Hit, err error) {
	for _, who := range s.Readers {
		found, err := s.mailbox(ctx, who)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	return hits, nil
}

func (s *search) mailbox(ctx context.Context, who address.Instance) (hits []Hit, err error) {
	sources, err := s.Office.Mail.Sources(ctx, who)
	if err != nil {
		return nil, err
	}
	judge := listJudge(s.Office.ListJudge(who))
	seen := map[string]bool{}
	for _, kind := range []store.Kind{store.Inbox, store.Archive} {
		for i := range sources {
			found, err := s.folder(ctx, kind, &sources[i], judge)
			if err != nil {
				return nil, err
			}
			for _, h := range found {
				if !seen[h.ID] {
					seen[h.ID] = true
					if h.Bus = s.Bus; len(s.Readers) > 1 || s.Bus != "" {
						h.To = string(who)
					}
					hits = append(hits, h)
				}
			}
		}
	}
	return hits, nil
}

// folder looks through one folder, newest first.
func (s *search) folder(ctx context.Context, kind store.Kind, from *mailbox.Source, judge listJudge) ([]Hit, error) {
	var found []Hit
	for msg, err := range s.Office.Mail.Rows(ctx, kind, from.Owner) {
		if err != nil {
			return nil, err
		}
		m, at := &msg.Summary, time.UnixMilli(msg.Order)
		if !s.wants(string(m.Actor.Instance), at) {
			continue
		}
		text := m.Preview
		if m.TextSize > len(m.Preview) {
			whole, err := s.Office.Mail.At(ctx, msg.Key)
			switch {
			case errors.Is(err, store.ErrNotFound), store.IsUnfit(err):
				continue // it was taken: the archive has it
			case err != nil:
				return nil, err
			}
			text = whole.Envelope.Text()
		}
		snippet, ok := s.find(text)
		if !ok {
			continue
		}
		v, err := judge(ctx, msg.Key, m)
		if err != nil {
			return nil, err
		}
		if s.Policy && s.Office.Withholds(&mail.Item{Message: &mailbox.Message{Key: msg.Key, Envelope: &envelope.Envelope{Actor: m.Actor}}, Verdict: v}) != "" {
			continue
		}
		word := v.Word.String()
		if v.RoleNotRegistered {
			word += ", role not registered"
		}
		found = append(found, Hit{
			Kind: OnBus, ID: m.ID, From: string(m.Actor.Instance), Time: at, Where: kind.String(), Thread: m.ThreadID, Type: m.Kind, Snippet: snippet, Verdict: word,
		})
	}
	return found, nil
}
