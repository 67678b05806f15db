package escalation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/store"
)

// Members of an alert that are ours. Who raises alerts keeps members that it does not know, so that a later alert for another
// reason is told from the one that was seen: by its time.
const (
	mSeenAt = "answeredAt"
	mSeenBy = "answeredBy"
	mSeen   = "answer"
	mNote   = "answerNote"
)

// alerts are the agents that were put before a person because they do not go on.
func (m *Matters) alerts(ctx context.Context) (all []*Matter, problems []error, err error) {
	for e, err := range m.store.List(ctx, store.Escalation, "") {
		var one *Matter
		if err == nil {
			one, err = m.alert(ctx, e.Key)
		}
		switch _, unfit := errors.AsType[*store.UnfitError](err); {
		case err == nil:
			all = append(all, one)
		case errors.Is(err, store.ErrNotFound): // it went on meanwhile
		case unfit:
			problems = append(problems, err)
		default:
			return nil, nil, err
		}
	}
	return all, problems, nil
}

func (m *Matters) alert(ctx context.Context, k store.Key) (*Matter, error) {
	doc, err := m.store.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	one, err := alertOf(doc.Data)
	if err == nil && address.Segment(one.ID) != k.Name {
		err = errors.New("is that of another agent than its name says")
	}
	if err != nil {
		return nil, &store.UnfitError{Key: k, Where: k.String(), Why: err.Error()}
	}
	return one, nil
}

// alertOf reads the record of an alert.
func alertOf(raw []byte) (*Matter, error) {
	var v [13][]byte
	names := []string{"instance", "reason", "channel", "to", "at", "firstAt", "lastAt", "detail", "relanceCount", mSeenAt, mSeenBy, mSeen, mNote}
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, names, v[:]) {
		return nil, errors.New("is no JSON object")
	}
	text := func(n int) string { s, _ := canonjson.String(v[n]); return s }
	at := func(n int) time.Time { t, _ := envelope.ParseTime(text(n)); return t }
	one := &Matter{ID: text(0), By: address.Instance(text(0)), Reason: text(1), Channel: "alert", Target: text(3), At: at(5), Source: "alert"}
	if address.Check(one.ID) != nil || one.Reason == "" {
		return nil, errors.New("has no instance or no reason")
	}
	if one.At.IsZero() {
		one.At = at(4)
	}
	last := at(6)
	if last.IsZero() {
		last = at(4)
	}
	one.Question = text(7)
	if one.Question == "" {
		count, _ := canonjson.Int(v[8])
		one.Question = fmt.Sprintf("it was asked %d times to go on and did not (%s)", count, one.Reason)
	}
	if seen := at(9); !seen.IsZero() && !seen.Before(last) {
		one.Answer = &Answer{By: address.Instance(text(10)), Text: text(11), Note: text(12), At: seen}
	}
	return one, nil
}

// tries is how often a change is made again that somebody else was faster with.
const tries = 100

// See writes down that a person has seen an alert, and what that person says to it. It stays until the agent goes on.
func (m *Matters) See(ctx context.Context, agent address.Instance, a Answer) error {
	k := store.Key{Kind: store.Escalation, Name: address.Segment(string(agent))}
	var err error
	for range tries {
		var doc store.Doc
		if doc, err = m.store.Get(ctx, k); err == nil {
			_, err = alertOf(doc.Data)
		}
		if err != nil {
			break
		}
		raw := canonjson.Compact(doc.Data)
		for _, s := range [][2]string{{mSeenAt, envelope.Stamp(a.At)}, {mSeenBy, string(a.By)}, {mSeen, a.Text}, {mNote, a.Note}} {
			if s[1] == "" {
				raw = canonjson.Delete(raw, s[0])
				continue
			}
			raw = canonjson.Set(raw, s[0], canonjson.AppendString(nil, s[1]))
		}
		if _, err = m.store.Replace(ctx, k, append(canonjson.Indent(raw), '\n'), doc.Rev); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNone
	}
	if err != nil {
		return fmt.Errorf("escalation %s: %w", agent, err)
	}
	return nil
}
