package search

import (
	"context"
	"errors"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/store"
)

// A listJudge is that of [mail.Service.ListJudge].
type listJudge func(context.Context, store.Key, *envelope.Summary) (trust.Verdict, error)

// bus looks through what an agent got: its mailbox and what it took.
func (s *search) bus(ctx context.Context) ([]Hit, error) {
	sources, err := s.Office.Mail.Sources(ctx, s.Reader)
	if err != nil {
		return nil, err
	}
	judge := listJudge(s.Office.ListJudge(s.Reader))
	var hits []Hit
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
	for row, err := range s.Office.Mail.Rows(ctx, kind, from.Owner) {
		switch {
		case store.IsUnfit(err):
			continue // inbox names it
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		m, err := envelope.Decode(row.Summary)
		at := time.UnixMilli(row.Order)
		if err != nil || !s.wants(string(m.Actor.Instance), at) {
			continue
		}
		text := m.Preview
		if m.TextSize > len(m.Preview) {
			whole, err := s.Office.Mail.At(ctx, row.Key)
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
		v, err := judge(ctx, row.Key, &m)
		if err != nil {
			return nil, err
		}
		if s.Policy && s.Office.Withholds(&mail.Item{Message: &mailbox.Message{Key: row.Key, Envelope: &envelope.Envelope{Actor: m.Actor}}, Verdict: v}) != "" {
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
