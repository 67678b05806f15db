package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Query says which messages a list shows.
type Query struct {
	Newest int  // at most so many; 0 means all
	Exact  bool // every message is checked against its file: what decides something asks for this
	Unread bool // only those that no reader was shown or has taken
	// For asks only for what Offer would give this reader at Now: more than Unread where another reader was shown a
	// message and did not acknowledge it, less where another one has a claim.
	For   *Reader
	Now   time.Time
	Since time.Time // only those whose order is not before; zero means all
	// Brief leaves Envelope nil: then no file is read that the index knows.
	Brief  bool
	States bool // sets State, but for Stored, also when neither Unread nor For needs it
}

// Oldest returns the messages among the n oldest that a query asks for, or among more when none of these qualify, in the order of List and
// in brief. part: there may be more; a larger n finds them. However many messages a mailbox has, no more of it is read than that takes:
// see store.Query.
func (m *Mailbox) Oldest(ctx context.Context, inst address.Instance, n int, q Query) (found []*Message, part bool, bad []error, err error) {
	sources, err := m.lying(ctx, inst)
	passed := map[string]bool{}
	for oldest := n; err == nil; oldest *= 4 {
		var lines []Line
		if lines, bad, part, err = m.oldestLines(ctx, sources, oldest, n, &q, passed); err == nil && (!part || len(lines) > 0) {
			found, unfit := messages(lines)
			return found, part, append(bad, unfit...), nil
		}
	}
	return nil, false, nil, fmt.Errorf("list mail of %s: %w", inst, err)
}

// Unread counts the messages that no reader was shown, among the so many oldest. more: there may be others; so a crowd is not read as a whole.
func (m *Mailbox) Unread(ctx context.Context, inst address.Instance, among int) (n int, more bool, bad []error, err error) {
	found, more, bad, err := m.Oldest(ctx, inst, among, Query{Unread: true})
	return len(found), more, bad, err
}

// oldestLines returns those of the n oldest messages that qualify. Of a large mailbox it stops when it has enough of them. The ids of
// messages that do not qualify go into passed, and are not judged again.
func (m *Mailbox) oldestLines(ctx context.Context, sources []Source, n, enough int, q *Query, passed map[string]bool) (found []Line, bad []error, part bool, err error) {
	found, bad, _, err = m.rows(ctx, sources, store.Query{Oldest: n, Part: &part, Bare: true}, q)
	if err != nil {
		return nil, nil, false, err
	}
	found, number, copies, err := m.merge(ctx, sources, found, part)
	if err != nil {
		return nil, nil, false, err
	}
	bad = append(bad, copies...)
	if !part {
		found, err = m.judge(ctx, sources, found, number, q)
		return found, bad, false, err
	}
	// The trail of so large a mailbox is not read as a whole.
	found = slices.DeleteFunc(found, func(l Line) bool { return passed[l.ID] })
	var out []Line
	for len(found) > 0 && len(out) < enough {
		few := found[max(0, len(found)-fewIDs):]
		found = found[:len(found)-len(few)]
		for _, l := range few {
			passed[l.ID] = true
		}
		if few, err = m.judge(ctx, sources, few, nil, q); err != nil {
			return nil, nil, false, err
		}
		for _, l := range few {
			delete(passed, l.ID)
		}
		out = slices.Concat(few, out)
	}
	return out, bad, true, nil
}

func (q *Query) judges() bool { return q.Unread || q.For != nil }

// wants tells whether a message qualifies of which the trail says s, nil for nothing.
func (q *Query) wants(s *State) bool {
	switch {
	case s == nil:
		return true
	case q.Unread && s.Seen():
		return false
	case q.For != nil:
		return s.Free(*q.For, q.Now)
	}
	return true
}

// List returns the messages of a mailbox, newest first (see envelope.Order), of equal ones by rising id. A message that is in
// several folders is shown once, from the first of them. The errors returned beside the list name the files which are not
// messages, or have the id of another one.
func (m *Mailbox) List(ctx context.Context, inst address.Instance, q Query) ([]*Message, []error, error) {
	sources, err := m.lying(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	lines, bad, err := m.lines(ctx, sources, &q)
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	found, unfit := messages(lines)
	bad = append(bad, unfit...)
	if !q.Brief {
		var unread []error
		if found, unread, err = m.load(ctx, found); err != nil {
			return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
		}
		bad = append(bad, unread...)
	}
	return found, bad, nil
}

// messages makes messages of lines, side by side: those of one list are kept or dropped together.
func messages(lines []Line) (out []*Message, bad []error) {
	all := make([]Message, len(lines))
	out = make([]*Message, 0, len(lines))
	for i := range lines {
		if err := lines[i].fill(&all[i]); err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, &all[i])
	}
	return out, bad
}

func fromRow(row store.Row, s *Source) (*Message, error) {
	m := new(Message)
	if err := m.Summary.Decode(row.Summary); err != nil {
		return nil, &store.UnfitError{Key: row.Key, Where: row.Key.String(), Why: err.Error()}
	}
	m.Key, m.ID, m.Order, m.Stored, m.Size = row.Key, m.Summary.ID, row.Order, row.Stored, row.Size
	m.Source, m.Channel, m.Archived = s.Owner, s.Channel, row.Key.Kind == store.Archive
	return m, nil
}

// load reads the documents of messages. One that went away meanwhile is left out.
func (m *Mailbox) load(ctx context.Context, all []*Message) (out []*Message, bad []error, err error) {
	for _, msg := range all {
		full, err := m.read(ctx, msg.Key)
		switch {
		case err == nil:
			msg.Envelope, msg.ID, msg.Stored, msg.Size = full.Envelope, full.ID, full.Stored, full.Size
			out = append(out, msg)
		case errors.Is(err, store.ErrNotFound):
		case store.IsUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	return out, bad, nil
}

// read reads one document. A document that is not a message is an UnfitError.
func (m *Mailbox) read(ctx context.Context, k store.Key) (*Message, error) {
	msg, _, err := m.readRev(ctx, k)
	return msg, err
}

func (m *Mailbox) readRev(ctx context.Context, k store.Key) (*Message, store.Rev, error) {
	d, err := m.s.Get(ctx, k)
	if err != nil {
		return nil, "", err
	}
	msg := new(Message)
	if err := msg.fill(&d, nil); err != nil {
		return nil, d.Rev, err
	}
	return msg, d.Rev, nil
}

// compareIDs compares by UTF-16 units, as the existing programs do. It differs from the order of bytes only between
// characters above U+FFFF and those from U+E000 on.
func compareIDs(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			if a[i] < 0xEE || b[i] < 0xEE {
				break
			}
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
	}
	return strings.Compare(a, b)
}
