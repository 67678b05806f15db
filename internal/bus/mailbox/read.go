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
// messages with one id the one in the first folder counts, of those stored under its name. The errors returned beside them name
// the files that are not messages.
func (m *Mailbox) Read(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	out, bad, err := m.readAll(ctx, store.Inbox, sources)
	if err != nil {
		return nil, nil, fmt.Errorf("read mail of %s: %w", inst, err)
	}
	out, copies := singles(out)
	return out, append(bad, copies...), nil
}

// ReadOutbox is Read for the copies of what an instance sent.
func (m *Mailbox) ReadOutbox(ctx context.Context, inst address.Instance) ([]*Message, []error, error) {
	if err := address.Check(string(inst)); err != nil {
		return nil, nil, fmt.Errorf("read outbox: %w", err)
	}
	out, bad, err := m.readAll(ctx, store.Outbox, appendSource(nil, string(inst), false))
	if err != nil {
		return nil, nil, fmt.Errorf("read outbox of %s: %w", inst, err)
	}
	out, copies := singles(out)
	return out, append(bad, copies...), nil
}

// fill makes an empty message that of a document, which is in s. A document that is not a message is an UnfitError.
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

// readAll reads all folders of a kind, by rising id, what has one id in the order of the folders.
func (m *Mailbox) readAll(ctx context.Context, kind store.Kind, sources []Source) (out []*Message, bad []error, err error) {
	for i := range sources {
		all, unfit, err := m.readFolder(ctx, kind, &sources[i])
		if store.IsUnfit(err) { // the folder as a whole: the others are still read
			bad = append(bad, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		out, bad = append(out, all...), append(bad, unfit...)
	}
	slices.SortStableFunc(out, func(a, b *Message) int { return compareIDs(a.ID, b.ID) })
	return out, bad, nil
}

// readFolder reads one folder, a document after the other, by rising name.
func (m *Mailbox) readFolder(ctx context.Context, kind store.Kind, from *Source) (out []*Message, bad []error, err error) {
	var keys []store.Key
	for e, err := range m.s.List(ctx, kind, from.Owner) {
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
		one := new(Message)
		d, err := m.s.Get(ctx, k)
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
