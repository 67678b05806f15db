package watchdog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// Why an agent is escalated to a person.
const (
	Exhausted  = "relance-exhausted"
	Watchdog   = "watchdog-escalate"
	RerouteAsk = "reroute-suggested"
)

// Raise puts the agent of an entry before its person. news is false when that is so already, and nothing is written: an alert is written when that
// begins, and then only when it is another matter.
func (b *Book) Raise(ctx context.Context, e *Entry, a escalation.Alert, now time.Time) (news bool, err error) {
	k := escalation.AlertKey(a.Instance)
	for range again {
		d, err := b.Store.Get(ctx, k)
		var before *escalation.Alert
		if err == nil {
			if old, err := escalation.ParseAlert(d.Data); err == nil && old.Instance == a.Instance {
				before = old
			}
		}
		a.At, a.Last, a.Count, a.Raw, a.Seen = now, now, 1, nil, nil
		if before != nil {
			if !another(before, &a, e, now) {
				return false, nil
			}
			a.At, a.Count, a.Raw = before.At, before.Count+1, before.Raw
		}
		switch {
		case err == nil:
			_, err = b.Store.Replace(ctx, k, pretty(a.JSON()), d.Rev)
		case errors.Is(err, store.ErrNotFound):
			_, err = b.Store.Create(ctx, k, pretty(a.JSON()))
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

// another reports whether an alert is about something else than the one that is recorded: for another reason, of an agent that
// was asked since, or one that has stopped again after its person had answered.
func another(before, a *escalation.Alert, e *Entry, now time.Time) bool {
	stopped := known(e.StoppedAt, now)
	since := known(e.tried(), now)
	if since.IsZero() { // it is escalated to its person without being asked
		since = stopped
	}
	return before.Reason != a.Reason || before.RelanceCount != a.RelanceCount || since.After(before.Last) ||
		before.Seen != nil && stopped.After(before.Seen.At)
}

// Alerts returns the agents that were escalated to a person, the oldest first, and the files that are not alerts.
func (b *Book) Alerts(ctx context.Context) (all []*escalation.Alert, problems []error, err error) {
	all, problems, err = read(ctx, b.Store, store.Escalation, func(d store.Doc) (*escalation.Alert, error) { return escalation.ParseAlert(d.Data) })
	slices.SortFunc(all, func(a, b *escalation.Alert) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Instance, b.Instance))
	})
	return all, problems, err
}

// settle takes an alert away.
func (b *Book) settle(ctx context.Context, i address.Instance) error {
	own := func(raw []byte) bool {
		a, err := escalation.ParseAlert(raw)
		return err == nil && a.Instance == i
	}
	if err := b.drop(ctx, escalation.AlertKey(i), own); err != nil {
		return fmt.Errorf("escalation of %s: %w", i, err)
	}
	return nil
}
