package escalation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tutti/internal/store"
)

// Ends remembers of each journal how far it was read and when its matters end, for callers that look repeatedly: a journal that
// has not grown, and none of whose matters has come to its end, is not read. The zero value knows nothing. It is not safe for
// concurrent use.
type Ends struct {
	journals map[string]*ending
}

// An ending is what is known of a journal.
type ending struct {
	read store.Pos // its end when it was read
	next time.Time // when the next of its matters ends; zero: there is none
	over bool      // one has ended that was not on record, and may not be yet
	seen bool
}

// Next is when the next matter ends that had not ended at the last look, the zero time for none.
func (n *Ends) Next() (first time.Time) {
	for _, j := range n.journals {
		if !j.next.IsZero() && (first.IsZero() || j.next.Before(first)) {
			first = j.next
		}
	}
	return first
}

// Lapsed returns the matters whose end has passed without an answer and of which that is not on record, the oldest first. One
// whose answer others may recognise is not among them. Journals that cannot be read are returned in problems, and read again
// the next time.
func (m *Matters) Lapsed(ctx context.Context, n *Ends, now time.Time) (due []*Escalation, problems []error, err error) {
	names, err := m.journals(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list escalations: %w", err)
	}
	if n.journals == nil {
		n.journals = map[string]*ending{}
	}
	for _, name := range names[:min(len(names), maxJournals)] {
		found, err := m.lapsed(ctx, n, name, now)
		if store.IsUnfit(err) {
			problems = append(problems, err)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list escalations: %w", err)
		}
		due = append(due, found...)
	}
	for name, j := range n.journals {
		if !j.seen {
			delete(n.journals, name)
		}
		j.seen = false
	}
	slices.SortStableFunc(due, func(a, b *Escalation) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return due, problems, nil
}

// lapsed is that of one journal.
func (m *Matters) lapsed(ctx context.Context, n *Ends, name string, now time.Time) (due []*Escalation, err error) {
	// The end is taken first: what comes while the journal is read is read again.
	end, err := store.EndOf(ctx, m.store, store.Key{Kind: store.Journal, Name: name})
	if err != nil {
		return nil, err
	}
	j := n.journals[name]
	if j != nil && j.read == end && !j.over && (j.next.IsZero() || now.Before(j.next)) {
		j.seen = true
		return nil, nil
	}
	delete(n.journals, name)
	all, _, err := m.in(ctx, name)
	if err != nil {
		return nil, err
	}
	j = &ending{read: end, seen: true}
	for _, one := range all {
		if one.Recorded || one.Until.IsZero() || one.Answer != nil || one.Doubt != "" {
			continue
		}
		if one.State(now) == Lapsed {
			due, j.over = append(due, one), true
		} else if j.next.IsZero() || one.Until.Before(j.next) {
			j.next = one.Until
		}
	}
	n.journals[name] = j
	return due, nil
}
