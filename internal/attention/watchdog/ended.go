package watchdog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// forgotten is how old the last heartbeat of a session is from which on its end is of the past: the agent is no longer waited
// for.
const forgotten = 30 * time.Minute

// ended are the sessions without an entry whose program is proven to have ended. That a session is no more kept proves nothing: only those are
// asked about at all, because the owner of one that is kept lives.
func (d *Beats) ended(ctx context.Context, r *room, now time.Time) (all []*member) {
	if d.o.Ended == nil {
		return nil
	}
	asked := 0
	for who, sessions := range r.members {
		if r.entries[who] != nil || slices.ContainsFunc(sessions, func(m *member) bool { return m.present(now) || !m.there() }) {
			continue
		}
		last := slices.MaxFunc(sessions, func(a, b *member) int { return a.beat.Compare(b.beat) })
		over := last.State == presence.Closed || last.State == presence.StateExpired || last.WorkStatus == presence.Done
		if over || last.beat.IsZero() || now.Sub(last.beat) > forgotten || last.Launch == nil || last.Launch.Tmux == nil {
			continue
		}
		if !last.beat.After(d.settled[who]) {
			continue
		}
		if asked++; asked > looks {
			break // a map begins anywhere: the others have their turn
		}
		if d.o.Ended(ctx, last.Session) {
			all = append(all, last)
		}
	}
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.Instance, b.Instance) })
	return all
}

// found records an agent whose program has ended, unless it has reported something since, or a person has settled that.
func (d *Beats) found(ctx context.Context, m *member, now time.Time) {
	at, err := d.saidAt(ctx, m.Instance)
	if err == nil && !at.After(m.beat) {
		at, err = d.clearedAt(ctx, m.who)
	}
	if err != nil {
		d.once(m.Instance, Event{Kind: Faulty, Text: err.Error(), Fault: true})
		return
	}
	if at = known(at, now); at.After(m.beat) {
		d.settled[m.who] = at
		return
	}
	text := fmt.Sprintf("the program of %s has ended, and its session was not closed", m.Instance)
	d.once(m.Instance, Event{Kind: Found, Text: text})
	if d.o.Relaunch == nil {
		return // nothing is written either
	}
	if _, err := d.o.Book.Record(ctx, Stop{Instance: m.Instance, Status: presence.Paused, Launch: m.Launch, Origin: Ended}, now); err != nil {
		d.tell(Event{Kind: Faulty, Instance: m.Instance, Text: err.Error(), Fault: true})
	}
}

// clearings makes the rows of the log of decisions: only what was cleared is found there. The log only grows, and is asked at each beat while the
// program of an agent has ended and nothing may be written of it.
var clearings = &store.Projection{
	Name: "cleared", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		if l, ok := ParseLine(line); ok && l.Event == LogCleared {
			return []string{clearedKey(l.Instance)}, 0, nil, nil
		}
		return nil, 0, nil, nil
	},
}

func clearedKey(who address.Instance) string { return "c" + string(who.Canonical()) }

// clearedAt is when the stop of an agent was last cleared, by the log; zero: never.
func (d *Beats) clearedAt(ctx context.Context, who address.Instance) (last time.Time, err error) {
	for line, err := range store.FindIn(ctx, d.o.Book.Store, logKey, clearings, clearedKey(who)) {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return last, fmt.Errorf("read %s: %w", logKey, err)
		}
		if l, ok := ParseLine(line.Data); ok && l.Event == LogCleared && l.Instance.Canonical() == who {
			last = later(last, l.At)
		}
	}
	return last, nil
}
