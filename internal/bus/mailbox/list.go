package mailbox

import (
	"cmp"
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

// wants tells whether a message qualifies of which the trail says s.
func (q *Query) wants(s *State) bool {
	if q.Unread && s.Seen() {
		return false
	}
	return q.For == nil || s.Free(*q.For, q.Now)
}

// List returns the messages of a mailbox, newest first (see envelope.Order), of equal ones by rising id. A message that
// lies in several folders is shown once, from the first of them. Beside the list stand the errors that name the files
// which are no messages, or have the id of another one.
func (m *Mailbox) List(ctx context.Context, inst address.Instance, q Query) ([]*Message, []error, error) {
	found, bad, err := m.list(ctx, inst, &q)
	if err == nil && !q.Brief {
		var unread []error
		found, unread, err = m.load(ctx, found)
		bad = append(bad, unread...)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	return found, bad, nil
}

// list is List in brief.
func (m *Mailbox) list(ctx context.Context, inst address.Instance, q *Query) (found []*Message, bad []error, err error) {
	sources, err := m.lying(ctx, inst)
	if err != nil {
		return nil, nil, err
	}
	// Who wants the newest of those that qualify has to look further down as long as there are not enough.
	for n := q.Newest; ; n *= 4 {
		var more bool
		var copies []error
		if found, bad, more, err = m.rows(ctx, sources, n, q); err != nil {
			return nil, nil, err
		}
		found, copies = singles(found)
		bad = append(bad, copies...)
		if n > 0 {
			// The message whose id a file of another name has may be older than what was looked at.
			if found, copies, err = m.settle(ctx, sources, found); err != nil {
				return nil, nil, err
			}
			bad = append(bad, copies...)
		}
		slices.SortStableFunc(found, newestFirst)
		if found, err = m.judge(ctx, sources, found, q); err != nil {
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

func newestFirst(a, b *Message) int {
	return cmp.Or(cmp.Compare(b.Order, a.Order), compareIDs(a.ID, b.ID))
}

// rows returns the newest n messages of each source. more: there may be others below.
func (m *Mailbox) rows(ctx context.Context, sources []Source, n int, q *Query) (out []*Message, bad []error, more bool, err error) {
	for i := range sources {
		got := 0
		query := store.Query{Newest: n, Exact: q.Exact}
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
				got = 0 // none below is wanted
				break
			}
			msg, err := fromRow(row, &sources[i])
			if err != nil {
				bad = append(bad, err)
				continue
			}
			out = append(out, msg)
		}
		more = more || n > 0 && got >= n
	}
	return out, bad, more, nil
}

// judge sets the states and drops what is not asked for.
func (m *Mailbox) judge(ctx context.Context, sources []Source, all []*Message, q *Query) ([]*Message, error) {
	judges := q.Unread || q.For != nil
	if !judges && !q.States {
		return all, nil
	}
	if !judges && q.Newest > 0 {
		all = all[:min(len(all), q.Newest)]
	}
	f := newFold(idsOf(all))
	f.bare = true
	if err := m.foldAll(ctx, trailsOf(sources), f); err != nil {
		return nil, err
	}
	for _, msg := range all {
		if s := f.of(msg.ID); s != nil {
			msg.State = *s
		}
	}
	return slices.DeleteFunc(all, func(msg *Message) bool { return !q.wants(&msg.State) }), nil
}

func idsOf(all []*Message) []string {
	ids := make([]string, len(all))
	for n, msg := range all {
		ids[n] = msg.ID
	}
	return ids
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

// read reads one document. What is no message is an UnfitError.
func (m *Mailbox) read(ctx context.Context, k store.Key) (*Message, error) {
	msg, _, err := m.readRev(ctx, k)
	return msg, err
}

func (m *Mailbox) readRev(ctx context.Context, k store.Key) (*Message, store.Rev, error) {
	d, err := m.s.Get(ctx, k)
	if err != nil {
		return nil, "", err
	}
	msg, err := fromDoc(&d)
	return msg, d.Rev, err
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
