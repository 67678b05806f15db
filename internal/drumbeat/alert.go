package drumbeat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/store"
)

// Why an agent is put before a person.
const (
	Exhausted  = "relance-exhausted"
	Watchdog   = "watchdog-escalate"
	RerouteAsk = "reroute-suggested"
)

// An Alert puts an agent before the person whose it is. Existing programs know the members up to at:
//
//	{"instance":"…","reason":"relance-exhausted","relanceCount":3,"channel":"alert","to":"PRINCIPAL","at":"…",
//	 "firstAt":"…","lastAt":"…","count":2,"detail":"asked 3 times to go on"}
//
// It is written when that begins, and then only when the reason is another one, or the agent was asked again meanwhile. At and First are when
// it began.
type Alert struct {
	Instance     address.Instance
	Reason       string
	RelanceCount int
	Detail       string // in words, for people; "" for none
	At, Last     time.Time
	Count        int // how often it came to this since At
	Raw          []byte
}

func alertKey(i address.Instance) store.Key {
	return store.Key{Kind: store.Escalation, Name: address.Segment(string(i))}
}

// ParseAlert reads an alert.
func ParseAlert(raw []byte) (*Alert, error) {
	var v [8][]byte
	if !canonjson.Pick(raw, []string{"instance", "reason", "relanceCount", "at", "firstAt", "lastAt", "count", "detail"}, v[:]) {
		return nil, errors.New("is no JSON object")
	}
	a := &Alert{
		Instance: address.Instance(text(v[0])), Reason: text(v[1]), RelanceCount: count(v[2]), At: when(v[3]), Last: when(v[5]),
		Count: max(count(v[6]), 1), Detail: text(v[7]), Raw: raw,
	}
	if first := when(v[4]); !first.IsZero() {
		a.At = first
	}
	if a.Instance == "" || a.Reason == "" {
		return nil, errors.New("has no instance or no reason")
	}
	a.Last = later(a.At, a.Last)
	return a, nil
}

func (a *Alert) text() []byte {
	raw := a.Raw
	if raw == nil {
		raw = []byte("{}")
	}
	for _, m := range []struct {
		name  string
		value []byte
	}{
		{"instance", quoted(string(a.Instance))},
		{"reason", quoted(a.Reason)},
		{"relanceCount", number(a.RelanceCount)},
		{"channel", quoted("alert")},
		{"to", quoted("PRINCIPAL")},
		{"at", quoted(envelope.Stamp(a.At))},
		{"firstAt", quoted(envelope.Stamp(a.At))},
		{"lastAt", quoted(envelope.Stamp(a.Last))},
		{"count", number(a.Count)},
		{"detail", quoted(a.Detail)},
	} {
		raw = canonjson.Set(raw, m.name, m.value)
	}
	return raw
}

// Raise puts an agent before its person. news is false when that is so already, and nothing is written.
func (b *Book) Raise(ctx context.Context, a Alert, now time.Time) (news bool, err error) {
	k := alertKey(a.Instance)
	for range again {
		d, err := b.Store.Get(ctx, k)
		var before *Alert
		if err == nil {
			if old, err := ParseAlert(d.Data); err == nil && old.Instance == a.Instance {
				before = old
			}
		}
		a.At, a.Last, a.Count, a.Raw = now, now, 1, nil
		if before != nil {
			if before.Reason == a.Reason && before.RelanceCount == a.RelanceCount {
				return false, nil
			}
			a.At, a.Count, a.Raw = before.At, before.Count+1, before.Raw
		}
		switch {
		case err == nil:
			_, err = b.Store.Replace(ctx, k, pretty(a.text()), d.Rev)
		case errors.Is(err, store.ErrNotFound):
			_, err = b.Store.Create(ctx, k, pretty(a.text()))
		}
		switch {
		case err == nil:
			return true, b.Log(ctx, Line{Event: LogEscalated, Instance: a.Instance, At: now, Count: a.RelanceCount, Reason: a.Reason})
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrNotFound):
			return false, fmt.Errorf("escalate %s: %w", a.Instance, err)
		}
	}
	return false, fmt.Errorf("escalate %s: %w", a.Instance, store.ErrConflict)
}

// Alerts returns the agents that were put before a person, the oldest first, and what lies there and is no alert.
func (b *Book) Alerts(ctx context.Context) (all []*Alert, problems []error, err error) {
	return read(ctx, b.Store, store.Escalation, ParseAlert, func(a, b *Alert) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Instance, b.Instance))
	})
}

// settle takes an alert away.
func (b *Book) settle(ctx context.Context, i address.Instance) error {
	own := func(raw []byte) bool {
		a, err := ParseAlert(raw)
		return err == nil && a.Instance == i
	}
	if err := b.drop(ctx, alertKey(i), own); err != nil {
		return fmt.Errorf("escalation of %s: %w", i, err)
	}
	return nil
}
