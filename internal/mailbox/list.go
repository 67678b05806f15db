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

	"tutti/internal/address"
	"tutti/internal/envelope"
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
	States bool // sets State also when neither Unread nor For needs it
}

func (q *Query) judges() bool { return q.Unread || q.For != nil }

func (q *Query) wants(s State) bool {
	switch {
	case q.Unread && s.Seen():
		return false
	case q.For != nil:
		return s.Free(*q.For, q.Now)
	}
	return true
}

// List returns the messages of a mailbox, newest first (see envelope.Order), of equal ones by rising id. A message that
// lies in several folders is shown once, from the first of them. Beside the list stand the errors that name the files
// which are no messages, or have the id of another one.
func (m *Mailbox) List(ctx context.Context, inst address.Instance, q Query) ([]*Message, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
	}
	var found []*Message
	var bad []error
	// Who wants the newest of those that qualify has to look further down as long as there are not enough.
	for n := q.Newest; ; n *= 4 {
		var more bool
		if found, bad, more, err = m.rows(ctx, sources, n, &q); err == nil {
			found, err = m.judge(ctx, sources, found, &q)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
		}
		if !more || len(found) >= q.Newest {
			break
		}
	}
	if q.Newest > 0 && len(found) > q.Newest {
		found = found[:q.Newest]
	}
	if !q.Brief {
		var unread []error
		if found, unread, err = m.load(ctx, found); err != nil {
			return nil, nil, fmt.Errorf("list mail of %s: %w", inst, err)
		}
		bad = append(bad, unread...)
	}
	return found, bad, nil
}

// rows merges the newest n rows of each source. more: there may be others below.
func (m *Mailbox) rows(ctx context.Context, sources []Source, n int, q *Query) (out []*Message, bad []error, more bool, err error) {
	var made maker
	for i := range sources {
		got := 0
		for row, err := range store.ViewOf(ctx, m.s, store.Inbox, sources[i].Owner, m.Projection, store.Query{Newest: n, Exact: q.Exact}) {
			if err != nil {
				if _, unfit := errors.AsType[*store.UnfitError](err); !unfit {
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
			msg, err := made.fromRow(&row, &sources[i])
			if err != nil {
				bad = append(bad, err)
				continue
			}
			out = append(out, msg)
		}
		more = more || n > 0 && got >= n
	}
	out, copies := single(out)
	bad = append(bad, copies...)
	if n > 0 {
		// The message whose id a file of another name has may be older than what was looked at.
		if out, copies, err = m.settle(ctx, sources, out); err != nil {
			return nil, nil, false, err
		}
		bad = append(bad, copies...)
	}
	slices.SortStableFunc(out, func(a, b *Message) int {
		if c := cmp.Compare(b.Order, a.Order); c != 0 {
			return c
		}
		return compareIDs(a.ID, b.ID)
	})
	return out, bad, more, nil
}

// A maker makes messages of rows. It takes memory for several at a time, as many as there were before, up to a limit: those
// of one list are kept or dropped together.
type maker struct {
	free []Message
	last int
}

func (f *maker) fromRow(row *store.Row, s *Source) (*Message, error) {
	if len(f.free) == 0 {
		f.last = min(max(1, 2*f.last), 64)
		f.free = make([]Message, f.last)
	}
	m := &f.free[0]
	f.free = f.free[1:]
	if err := m.Summary.Decode(row.Summary); err != nil {
		return nil, &store.UnfitError{Key: row.Key, Where: row.Key.String(), Why: err.Error()}
	}
	m.Key, m.ID, m.Order, m.Stored, m.Size = row.Key, m.Summary.ID, row.Order, row.Stored, row.Size
	m.Source, m.Channel, m.Archived = s.Owner, s.Channel, row.Key.Kind == store.Archive
	return m, nil
}

func fromRow(row store.Row, s *Source) (*Message, error) { return new(maker).fromRow(&row, s) }

// judge sets the states and drops what is not asked for. With a limit the newest are looked up first, and no more than are
// needed to fill it.
func (m *Mailbox) judge(ctx context.Context, sources []Source, all []*Message, q *Query) ([]*Message, error) {
	if !q.judges() {
		if !q.States {
			return all, nil
		}
		if q.Newest > 0 && len(all) > q.Newest {
			all = all[:q.Newest]
		}
	}
	trails := trailsOf(sources)
	var out []*Message
	for few := q.Newest > 0 && q.Newest <= fewIDs; len(all) > 0; few = false {
		part := all
		if few {
			part = all[:min(len(all), fewIDs)]
		}
		all = all[len(part):]
		ids := make([]string, len(part))
		for i, msg := range part {
			ids[i] = msg.ID
		}
		states, err := m.states(ctx, trails, ids)
		if err != nil {
			return nil, err
		}
		for _, msg := range part {
			if msg.State = states[msg.ID]; q.wants(msg.State) {
				out = append(out, msg)
			}
		}
		if q.Newest > 0 && len(out) >= q.Newest {
			break
		}
	}
	return out, nil
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
		case isUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	return out, bad, nil
}

func isUnfit(err error) bool {
	_, unfit := errors.AsType[*store.UnfitError](err)
	return unfit
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
	msg := new(Message)
	if err := msg.fill(&d); err != nil {
		return nil, d.Rev, err
	}
	return msg, d.Rev, nil
}

// fill makes an empty message that of a document.
func (m *Message) fill(d *store.Doc) error {
	e, err := envelope.Parse(d.Data)
	if err != nil {
		return &store.UnfitError{Key: d.Key, Where: d.Key.String(), Why: err.Error()}
	}
	m.Key, m.Envelope, m.ID, m.Order, m.Stored = d.Key, e, e.ID, envelope.Order(e.CreatedAt, d.Stored), d.Stored
	m.Size, m.Source, m.Archived = int64(len(d.Data)), d.Key.Owner, d.Key.Kind == store.Archive
	return nil
}

// Read returns all messages of a mailbox in the order of the existing programs: by rising id, compared by UTF-16 units. Of
// messages with one id the one in the first folder counts, of those that lie under its name. Beside them stand the errors that name what is no message.
func (m *Mailbox) Read(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	out, bad, err := m.readAll(ctx, store.Inbox, sources)
	out, bad = firsts(out, bad)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	return out, bad, nil
}

// ReadOutbox is Read for the copies of what an instance sent.
func (m *Mailbox) ReadOutbox(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	if err := address.Check(string(inst)); err != nil {
		return nil, nil, fmt.Errorf("read outbox: %w", err)
	}
	out, bad, err := m.readAll(ctx, store.Outbox, appendSource(nil, string(inst), false))
	out, bad = firsts(out, bad)
	if err != nil {
		return nil, nil, fmt.Errorf("read outbox of %s: %w", inst, err)
	}
	return out, bad, nil
}

// readAll reads all folders of a kind, by rising id, messages with one id in the order of the folders.
func (m *Mailbox) readAll(ctx context.Context, kind store.Kind, sources []Source) (out []*Message, bad []error, err error) {
	for i := range sources {
		read := m.readEach
		if _, ok := m.s.(bulk); ok {
			read = m.readBulk
		}
		all, unfit, err := read(ctx, kind, &sources[i])
		if err != nil {
			return nil, nil, err
		}
		out, bad = append(out, all...), append(bad, unfit...)
	}
	slices.SortStableFunc(out, func(a, b *Message) int { return compareIDs(a.ID, b.ID) })
	return out, bad, nil
}

// readEach reads one folder, a document after the other, by rising name.
func (m *Mailbox) readEach(ctx context.Context, kind store.Kind, s *Source) (out []*Message, bad []error, err error) {
	var keys []store.Key
	for e, err := range m.s.List(ctx, kind, s.Owner) {
		switch {
		case err == nil:
			keys = append(keys, e.Key)
		case isUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	slices.SortFunc(keys, func(a, b store.Key) int { return strings.Compare(a.Name, b.Name) })
	for _, k := range keys {
		msg, err := m.read(ctx, k)
		switch {
		case err == nil:
			msg.Channel = s.Channel
			out = append(out, msg)
		case errors.Is(err, store.ErrNotFound):
		case isUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	return out, bad, nil
}

// A bulk store reads all documents of a folder faster than one after the other. begin is told how many there may be; each
// gets them by number, in the order of their names, or why one is none. Several calls of each run at the same time.
type bulk interface {
	GetAll(ctx context.Context, kind store.Kind, owner string, begin func(n int), each func(i int, d store.Doc, err error)) error
}

// readBulk is readEach for a store that can read in bulk.
func (m *Mailbox) readBulk(ctx context.Context, kind store.Kind, s *Source) (out []*Message, bad []error, err error) {
	var all []Message // side by side: they are kept or dropped together
	var errs []error
	err = m.s.(bulk).GetAll(ctx, kind, s.Owner, func(n int) {
		all, errs = make([]Message, n), make([]error, n)
	}, func(i int, d store.Doc, err error) {
		if err == nil {
			err = all[i].fill(&d)
			all[i].Channel = s.Channel
		}
		errs[i] = err
	})
	if err != nil {
		return nil, nil, err
	}
	out = make([]*Message, 0, len(all))
	for i, err := range errs {
		switch {
		case err == nil:
			out = append(out, &all[i])
		case errors.Is(err, store.ErrNotFound):
		case isUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	return out, bad, nil
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
