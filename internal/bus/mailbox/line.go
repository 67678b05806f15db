package mailbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Line is one message of a list, as the index has it. It takes a seventh of the memory of a Message: who prints ten
// thousand spends more time on getting memory than on anything else.
type Line struct {
	ID    string
	Order int64 // see envelope.Order
	// State is what the trail has about the message, without when it was stored; nil when that is nothing, or it was not
	// requested.
	State *State

	source  *Source
	name    string // of the key
	stored  time.Time
	size    int64
	summary string // as it is encoded
}

// Key is where the message lies.
func (l *Line) Key() store.Key {
	return store.Key{Kind: store.Inbox, Owner: l.source.Owner, Name: l.name}
}

// Summary reads what a list shows into s, which may hold that of another message. Its texts belong to the line.
func (l *Line) Summary(s *envelope.Summary) error {
	if err := s.Decode(l.summary); err != nil {
		return l.unfit(err)
	}
	return nil
}

// Message is the line as a message in brief.
func (l *Line) Message() (*Message, error) {
	m := new(Message)
	return m, l.fill(m)
}

func (l *Line) fill(m *Message) error {
	if err := l.Summary(&m.Summary); err != nil {
		return err
	}
	m.Key, m.ID, m.Order, m.Stored, m.Size = l.Key(), l.ID, l.Order, l.stored, l.size
	m.Source, m.Channel = l.source.Owner, l.source.Channel
	if l.State != nil {
		m.State = *l.State
	}
	return nil
}

func (l *Line) unfit(err error) error {
	return &store.UnfitError{Key: l.Key(), Where: l.Key().String(), Why: err.Error()}
}

// Seen tells whether any reader has the message.
func (l *Line) Seen() bool { return l.State != nil && l.State.Seen() }

// Lines is List in brief for lists that may be long.
func (m *Mailbox) Lines(ctx context.Context, inst address.Instance, q Query) ([]Line, []error, error) {
	sources, err := m.lying(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	found, bad, err := m.lines(ctx, sources, &q)
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	return found, bad, nil
}

func (m *Mailbox) lines(ctx context.Context, sources []Source, q *Query) (found []Line, bad []error, err error) {
	// Who wants the newest of those that qualify has to look further down as long as there are not enough.
	for n := q.Newest; ; n *= 4 {
		var more bool
		var number map[string]int32
		if found, bad, more, err = m.rows(ctx, sources, store.Query{Newest: n, Exact: q.Exact, Bare: true}, q); err == nil {
			var copies []error
			if found, number, copies, err = m.merge(ctx, sources, found, n > 0); err != nil {
				return nil, nil, err
			}
			bad = append(bad, copies...)
			found, err = m.judge(ctx, sources, found, number, q)
		}
		if err != nil {
			return nil, nil, err
		}
		if !more || len(found) >= q.Newest {
			break
		}
	}
	if q.Newest > 0 && len(found) > q.Newest {
		found = found[:q.Newest]
	}
	return found, bad, nil
}

// rows returns the rows of each source that a query of the store asks for. more: there may be others below the newest.
func (m *Mailbox) rows(ctx context.Context, sources []Source, query store.Query, q *Query) (out []Line, bad []error, more bool, err error) {
	for i := range sources {
		got := 0
		for row, err := range store.ViewOf(ctx, m.s, store.Inbox, sources[i].Owner, m.Projection, query) {
			if err != nil {
				if !store.IsUnfit(err) {
					return nil, nil, false, err
				}
				bad = append(bad, err)
				continue
			}
			got++
			if !q.Since.IsZero() && row.Order < q.Since.UnixMilli() {
				got = 0 // none below is needed
				break
			}
			l := Line{
				Order: row.Order, source: &sources[i], name: row.Key.Name, stored: row.Stored, size: row.Size,
				summary: row.Summary,
			}
			if l.ID, err = envelope.SummaryID(l.summary); err != nil {
				bad = append(bad, l.unfit(err))
				continue
			}
			if len(out) == cap(out) {
				// What append would leave behind on the way to ten thousand is five times what is needed.
				out = slices.Grow(out, max(32, 3*len(out)))
			}
			out = append(out, l)
		}
		more = more || query.Newest > 0 && got >= query.Newest
	}
	return out, bad, more, nil
}

// merge makes one list of the rows of all folders: a message of each id, in the order of a list. part: it is a part of the
// mailbox. number says where the message of an id is then; nil: that would have to be found out, or an id stands in trails by
// another name.
func (m *Mailbox) merge(ctx context.Context, sources []Source, all []Line, part bool) (out []Line, number map[string]int32, bad []error, err error) {
	number, lost, bad := single(len(all), func(i int) (string, store.Key) { return all[i].ID, all[i].Key() })
	out = left(all, lost)
	if part {
		// The message whose id a file of another name has may be older than what was looked at.
		var copies []error
		if out, copies, err = m.settle(ctx, sources, out); err != nil {
			return nil, nil, nil, err
		}
		bad = append(bad, copies...)
	}
	sorted := slices.IsSortedFunc(out, compareLines) // a single folder is, as a rule
	if !sorted {
		slices.SortStableFunc(out, compareLines)
	}
	if !sorted || len(out) != len(all) || slices.ContainsFunc(out, func(l Line) bool { return trailID(l.ID) != l.ID }) {
		number = nil
	}
	return out, number, bad, nil
}

func compareLines(a, b Line) int {
	if c := cmp.Compare(b.Order, a.Order); c != 0 {
		return c
	}
	return compareIDs(a.ID, b.ID)
}

// judge sets the states and drops what is not asked for. With a limit the newest are looked up first, and no more than are
// needed to fill it. number is that of merge.
func (m *Mailbox) judge(ctx context.Context, sources []Source, all []Line, number map[string]int32, q *Query) ([]Line, error) {
	if !q.judges() {
		if !q.States {
			return all, nil
		}
		if q.Newest > 0 && len(all) > q.Newest {
			all, number = all[:q.Newest], nil
		}
	}
	trails := trailsOf(sources)
	out := all[:0]
	for few := q.Newest > 0 && q.Newest <= fewIDs; len(all) > 0; few = false {
		part := all
		if few {
			part = all[:min(len(all), fewIDs)]
		}
		all = all[len(part):]
		if err := m.setStates(ctx, trails, part, number); err != nil {
			return nil, err
		}
		number = nil
		for i := range part {
			if q.wants(part[i].State) {
				out = append(out, part[i])
			}
		}
		if q.Newest > 0 && len(out) >= q.Newest {
			break
		}
	}
	return out, nil
}

// setStates asks the trails. With number, which says where the messages of part stand, nothing has to be put down first.
func (m *Mailbox) setStates(ctx context.Context, trails []string, part []Line, number map[string]int32) error {
	f := &fold{number: number, bare: true}
	if len(part) != len(number) || len(part) <= fewIDs {
		f = foldFor(len(part))
		f.bare = true
		for i := range part {
			f.want(part[i].ID)
		}
	}
	if err := m.foldAll(ctx, trails, f); err != nil || f.states == nil {
		return err
	}
	for i := range part {
		part[i].State = f.of(part[i].ID)
	}
	return nil
}
