package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Read returns all messages of a mailbox in the order of the existing programs: by rising id, compared by UTF-16 units. Of
// messages with one id the one in the first folder counts, of those that lie under its name. Beside them stand the errors
// that name what is no message.
func (m *Mailbox) Read(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	return inbox[Message](ctx, m, inst)
}

// ReadWhole is Read for who passes the messages on as they are.
func (m *Mailbox) ReadWhole(ctx context.Context, inst address.Instance) ([]*Whole, []error, error) {
	return inbox[Whole](ctx, m, inst)
}

// ReadOutbox is Read for the copies of what an instance sent.
func (m *Mailbox) ReadOutbox(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	return outbox[Message](ctx, m, inst)
}

// ReadOutboxWhole is ReadWhole for these.
func (m *Mailbox) ReadOutboxWhole(ctx context.Context, inst address.Instance) ([]*Whole, []error, error) {
	return outbox[Whole](ctx, m, inst)
}

func inbox[T any, P paper[T]](ctx context.Context, m *Mailbox, inst address.Instance) ([]P, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	out, bad, err := readAll[T, P](ctx, m, store.Inbox, sources)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	out, bad = firsts(out, bad)
	return out, bad, nil
}

func outbox[T any, P paper[T]](ctx context.Context, m *Mailbox, inst address.Instance) ([]P, []error, error) {
	if err := address.Check(string(inst)); err != nil {
		return nil, nil, fmt.Errorf("read outbox: %w", err)
	}
	out, bad, err := readAll[T, P](ctx, m, store.Outbox, appendSource(nil, string(inst), false))
	if err != nil {
		return nil, nil, fmt.Errorf("read outbox of %s: %w", inst, err)
	}
	out, bad = firsts(out, bad)
	return out, bad, nil
}

// A paper is what is made of a document of a mailbox.
type paper[T any] interface {
	*T
	// fill makes an empty one that of a document, which lies in s. What is no message is an UnfitError.
	fill(d *store.Doc, s *Source) error
	place() (id string, k store.Key)
}

// fill makes an empty message that of a document.
func (m *Message) fill(d *store.Doc, s *Source) error {
	e, err := envelope.Parse(d.Data)
	if err != nil {
		return &store.UnfitError{Key: d.Key, Where: d.Key.String(), Why: err.Error()}
	}
	m.Key, m.Envelope, m.ID, m.Order, m.Stored = d.Key, e, e.ID, envelope.Order(e.CreatedAt, d.Stored), d.Stored
	m.Size, m.Source, m.Archived = int64(len(d.Data)), d.Key.Owner, d.Key.Kind == store.Archive
	m.Channel = s != nil && s.Channel
	return nil
}

func (m *Message) place() (id string, k store.Key) { return m.ID, m.Key }

// A Whole is a message as it stands. That it is one has been looked at, and no more.
type Whole struct {
	Raw []byte // not to be changed
	id  string
	key store.Key
}

func (w *Whole) fill(d *store.Doc, _ *Source) error {
	id, err := envelope.IDOf(d.Data)
	if err != nil {
		return &store.UnfitError{Key: d.Key, Where: d.Key.String(), Why: err.Error()}
	}
	w.Raw, w.id, w.key = d.Data, id, d.Key
	return nil
}

func (w *Whole) place() (id string, k store.Key) { return w.id, w.key }

// readAll reads all folders of a kind, by rising id, what has one id in the order of the folders.
func readAll[T any, P paper[T]](ctx context.Context, m *Mailbox, kind store.Kind, sources []Source) (out []P, bad []error, err error) {
	for i := range sources {
		var all []P
		var unfit []error
		if s, ok := m.s.(bulk); ok {
			all, unfit, err = readBulk[T, P](ctx, s, kind, &sources[i])
		} else {
			all, unfit, err = readEach[T, P](ctx, m.s, kind, &sources[i])
		}
		if store.IsUnfit(err) { // the folder as a whole: the others are still read
			bad = append(bad, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		out, bad = append(out, all...), append(bad, unfit...)
	}
	byID := func(a, b P) int {
		x, _ := a.place()
		y, _ := b.place()
		return compareIDs(x, y)
	}
	if !slices.IsSortedFunc(out, byID) { // they are by name, as a rule
		slices.SortStableFunc(out, byID)
	}
	return out, bad, nil
}

// readEach reads one folder, a document after the other, by rising name.
func readEach[T any, P paper[T]](ctx context.Context, s Store, kind store.Kind, from *Source) (out []P, bad []error, err error) {
	var keys []store.Key
	for e, err := range s.List(ctx, kind, from.Owner) {
		switch {
		case err == nil:
			keys = append(keys, e.Key)
		case store.IsUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	slices.SortStableFunc(keys, func(a, b store.Key) int { return strings.Compare(a.Name, b.Name) })
	for _, k := range keys {
		one := P(new(T))
		d, err := s.Get(ctx, k)
		if err == nil {
			err = one.fill(&d, from)
		}
		switch {
		case err == nil:
			out = append(out, one)
		case errors.Is(err, store.ErrNotFound):
		case store.IsUnfit(err):
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
func readBulk[T any, P paper[T]](ctx context.Context, s bulk, kind store.Kind, from *Source) (out []P, bad []error, err error) {
	var all []T // side by side: they are kept or dropped together
	var errs []error
	err = s.GetAll(ctx, kind, from.Owner, func(n int) {
		all, errs = make([]T, n), make([]error, n)
	}, func(i int, d store.Doc, err error) {
		if err == nil {
			err = P(&all[i]).fill(&d, from)
		}
		errs[i] = err
	})
	if err != nil {
		return nil, nil, err
	}
	out = make([]P, 0, len(all))
	for i, err := range errs {
		switch {
		case err == nil:
			out = append(out, &all[i])
		case errors.Is(err, store.ErrNotFound):
		case store.IsUnfit(err):
			bad = append(bad, err)
		default:
			return nil, nil, err
		}
	}
	return out, bad, nil
}
