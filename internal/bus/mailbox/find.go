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

// A held document is one copy of a requested message.
type held struct {
	*Message
	rev    store.Rev
	source Source
}

// named returns the document under the name of an id in one folder, if it is the message of that id: another id may have the
// same name. A document there that is not a message is an UnfitError.
func (m *Mailbox) named(ctx context.Context, kind store.Kind, s Source, id string) (*held, error) {
	k := store.Key{Kind: kind, Owner: s.Owner, Name: address.Segment(id)}
	if k.Check() != nil {
		return nil, ErrNoMessage
	}
	return m.hold(ctx, k, s, id)
}

func (m *Mailbox) hold(ctx context.Context, k store.Key, s Source, id string) (*held, error) {
	msg, rev, err := m.readRev(ctx, k)
	if errors.Is(err, store.ErrNotFound) || err == nil && msg.ID != id {
		return nil, ErrNoMessage
	}
	if err != nil {
		return nil, err
	}
	msg.Channel = s.Channel
	return &held{msg, rev, s}, nil
}

// scan returns the documents of one folder that hold the message of an id, whatever their names are.
func (m *Mailbox) scan(ctx context.Context, kind store.Kind, s Source, id string) ([]store.Key, error) {
	var out []store.Key
	for row, err := range store.ViewOf(ctx, m.s, kind, s.Owner, m.Projection, store.Query{Exact: true}) {
		if err != nil {
			if store.IsUnfit(err) {
				continue
			}
			return nil, err
		}
		if !slices.Contains(row.Keys, id) {
			continue
		}
		if sum, err := envelope.Decode(row.Summary); err == nil && sum.ID == id {
			out = append(out, row.Key)
		}
	}
	return out, nil
}

// first finds a message in the first folder that has it: by name in any folder of all kinds, else by content, so that a file of
// another name never replaces the file under the name of the id. If the file under its name cannot be read, it returns that
// error, unless a good copy is found.
func (m *Mailbox) first(ctx context.Context, sources []Source, id string, kinds ...store.Kind) (*held, error) {
	miss := error(ErrNoMessage)
	for _, kind := range kinds {
		h, err := m.byName(ctx, kind, sources, id)
		switch {
		case err == nil:
			return h, nil
		case !store.IsUnfit(err) && !errors.Is(err, ErrNoMessage):
			return nil, err
		case errors.Is(miss, ErrNoMessage):
			miss = err
		}
	}
	for _, kind := range kinds {
		h, err := m.byContent(ctx, kind, sources, id)
		if err == nil || !errors.Is(err, ErrNoMessage) {
			return h, err
		}
	}
	return nil, miss
}

// byName finds the document under the name of an id. A document that cannot be read is an UnfitError when no other folder has a
// good one.
func (m *Mailbox) byName(ctx context.Context, kind store.Kind, sources []Source, id string) (*held, error) {
	miss := error(ErrNoMessage)
	for _, s := range sources {
		h, err := m.named(ctx, kind, s, id)
		switch {
		case err == nil:
			return h, nil
		case store.IsUnfit(err):
			miss = err
		case !errors.Is(err, ErrNoMessage):
			return nil, err
		}
	}
	return nil, miss
}

func (m *Mailbox) byContent(ctx context.Context, kind store.Kind, sources []Source, id string) (*held, error) {
	for _, s := range sources {
		keys, err := m.scan(ctx, kind, s, id)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if h, err := m.hold(ctx, k, s, id); err == nil {
				return h, nil
			}
		}
	}
	return nil, ErrNoMessage
}

// Find returns one message that the instance received, took before, or sent: Get, and then its outbox. ErrNoMessage: none of
// them has it.
func (m *Mailbox) Find(ctx context.Context, inst address.Instance, id string) (*Message, error) {
	msg, err := m.Get(ctx, inst, id)
	key := store.Key{Kind: store.Outbox, Owner: inst.Mailbox(), Name: address.Segment(id)}
	if !errors.Is(err, ErrNoMessage) || key.Check() != nil {
		return msg, err
	}
	if sent, outErr := m.read(ctx, key); outErr == nil && sent.ID == id {
		return sent, nil
	}
	return nil, err
}

// Get returns one message, from the mailbox or, when it was taken before, from the archive. ErrNoMessage: neither has it.
func (m *Mailbox) Get(ctx context.Context, inst address.Instance, id string) (*Message, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("get message %s: %w", id, err)
	}
	h, err := m.first(ctx, sources, id, store.Inbox, store.Archive)
	if err != nil {
		return nil, fmt.Errorf("get message %s of %s: %w", id, inst, err)
	}
	return h.Message, nil
}

// recent is how many messages of a folder are looked at before all are: who waits for an answer looks every second.
const recent = 64

// ReplyTo returns the oldest message that says it answers the message of that id, and whose sender is one of those asked, in the mailbox or, if another session was
// faster, among those taken last. ErrNoMessage: there is none yet.
func (m *Mailbox) ReplyTo(ctx context.Context, inst address.Instance, id string, asked func(address.Instance) bool) (*Message, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("find answer to %s: %w", id, err)
	}
	for _, look := range []struct {
		kind   store.Kind
		newest int
	}{{store.Inbox, recent}, {store.Archive, recent}, {store.Inbox, 0}} {
		msg, err := m.answer(ctx, look.kind, look.newest, sources, id, asked)
		if msg != nil || err != nil {
			return msg, err
		}
	}
	return nil, fmt.Errorf("find answer to %s: %w", id, ErrNoMessage)
}

func (m *Mailbox) answer(ctx context.Context, kind store.Kind, newest int, sources []Source, id string, asked func(address.Instance) bool) (*Message, error) {
	var best *Message
	for i := range sources {
		for row, err := range store.ViewOf(ctx, m.s, kind, sources[i].Owner, m.Projection, store.Query{Newest: newest}) {
			if err != nil {
				if store.IsUnfit(err) {
					continue
				}
				return nil, fmt.Errorf("find answer to %s: %w", id, err)
			}
			if msg, err := fromRow(row, &sources[i]); err == nil && msg.Summary.ReplyTo == id && asked(msg.Summary.Actor.Instance) &&
				(best == nil || msg.Order < best.Order) {
				best = msg
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	full, err := m.read(ctx, best.Key)
	if errors.Is(err, store.ErrNotFound) || store.IsUnfit(err) {
		return nil, nil // it moved on; the next look finds it
	}
	if err == nil {
		best.Envelope = full.Envelope
	}
	return best, err
}

// Thread returns a conversation as an instance knows it: what it received, what it took before and what it sent, each message
// once, by rising createdAt as it is spelled. Beside them stand the errors that name what could not be read.
func (m *Mailbox) Thread(ctx context.Context, inst address.Instance, thread string) ([]*Message, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("read thread %s: %w", thread, err)
	}
	var found []*Message
	var bad []error
	for _, part := range []struct {
		kind    store.Kind
		sources []Source
	}{{store.Inbox, sources}, {store.Outbox, appendSource(nil, string(inst), false)}, {store.Archive, sources}} {
		for i := range part.sources {
			rows, unfit, err := m.thread(ctx, part.kind, &part.sources[i], thread)
			if err != nil {
				return nil, nil, fmt.Errorf("read thread %s: %w", thread, err)
			}
			bad = append(bad, unfit...)
			found = append(found, rows...)
		}
	}
	found, copies := singles(found)
	found, unfit, err := m.load(ctx, found)
	if err != nil {
		return nil, nil, fmt.Errorf("read thread %s: %w", thread, err)
	}
	slices.SortStableFunc(found, func(a, b *Message) int {
		return strings.Compare(a.Envelope.CreatedAt, b.Envelope.CreatedAt)
	})
	return found, slices.Concat(bad, copies, unfit), nil
}

// thread returns the messages of a thread in one folder, by rising id.
func (m *Mailbox) thread(ctx context.Context, kind store.Kind, s *Source, thread string) (out []*Message, bad []error, err error) {
	for row, err := range store.ViewOf(ctx, m.s, kind, s.Owner, m.Projection, store.Query{Exact: true}) {
		if err != nil {
			if !store.IsUnfit(err) {
				return nil, nil, err
			}
			bad = append(bad, err)
			continue
		}
		if !slices.Contains(row.Keys, envelope.ThreadKey+thread) {
			continue
		}
		if msg, err := fromRow(row, s); err == nil && msg.Summary.ThreadID == thread {
			out = append(out, msg)
		}
	}
	slices.SortFunc(out, func(a, b *Message) int { return compareIDs(a.ID, b.ID) })
	return out, bad, nil
}
