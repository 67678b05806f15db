package mailbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Result says where a message lies.
type Result struct {
	Key     store.Key
	Already bool // the same bytes were there before, perhaps taken already: then the key is that of the archive
}

// Put stores a message in the mailbox of an address, whole or not at all, durably. What makes it invalid is an
// *envelope.InvalidError, an id under whose name something else lies, in the mailbox or in the archive, a *TakenIDError.
func (m *Mailbox) Put(ctx context.Context, to address.Instance, raw []byte) (Result, error) {
	id, err := checked(raw)
	if err != nil {
		return Result{}, fmt.Errorf("put message for %s: %w", to, err)
	}
	return m.PutChecked(ctx, to, id, raw)
}

// PutChecked is Put for a message that was found to have no [envelope.Problems], or was written by [envelope.Draft]. id is the one in it.
func (m *Mailbox) PutChecked(ctx context.Context, to address.Instance, id string, raw []byte) (Result, error) {
	if err := address.Check(string(to)); err != nil {
		return Result{}, fmt.Errorf("put message: %w", err)
	}
	err := address.Check(id)
	var r Result
	if err == nil {
		r, err = m.create(ctx, store.Key{Kind: store.Inbox, Owner: to.Mailbox()}, id, raw)
	}
	if err != nil {
		return Result{}, fmt.Errorf("put message for %s: %w", to, err)
	}
	return r, nil
}

// PutOutbox keeps the sender's copy of a message. It is not synced: it comes after the recipient's copy, and after a power
// cut the last ones may be missing. The same bytes again are fine.
func (m *Mailbox) PutOutbox(ctx context.Context, from address.Instance, raw []byte) error {
	id, err := checked(raw)
	if err != nil {
		return fmt.Errorf("keep copy of %s: %w", from, err)
	}
	return m.KeepCopy(ctx, from, id, raw)
}

// KeepCopy is PutOutbox for a message that Put has taken, which is not judged once more: id is the one in it.
func (m *Mailbox) KeepCopy(ctx context.Context, from address.Instance, id string, raw []byte) error {
	if err := address.Check(string(from)); err != nil {
		return fmt.Errorf("keep copy: %w", err)
	}
	if _, err := m.create(ctx, store.Key{Kind: store.Outbox, Owner: from.Mailbox()}, id, raw); err != nil {
		return fmt.Errorf("keep copy of %s: %w", from, err)
	}
	return nil
}

// Batch runs fn with a Mailbox whose messages are durable, all of them, when Batch returns nil; before that none is. Only
// Put, PutChecked and PutOutbox may be called on it, and only until fn returns; the bytes must not be changed until then. Where the store knows no batches each is by itself.
func (m *Mailbox) Batch(ctx context.Context, fn func(*Mailbox) error) error {
	b, ok := m.s.(store.Batcher)
	if !ok {
		return fn(m)
	}
	return b.Batch(ctx, func(w store.Writer) error {
		return fn(&Mailbox{Live: m.Live, Projection: m.Projection, s: m.s, batch: &batch{w: w, put: map[store.Key][]byte{}}})
	})
}

// A batch remembers what was put by it, because readers do not see that yet. It is used by one goroutine.
type batch struct {
	w   store.Writer
	put map[store.Key][]byte
}

// tries is how often something is begun again that somebody else took away or changed in between.
const tries = 8

// checked returns the id of a message that may be stored.
func checked(raw []byte) (id string, err error) {
	if err := envelope.Check(raw); err != nil {
		return "", err
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return "", err
	}
	return e.ID, address.Check(e.ID)
}

// create stores a message under the name of its id.
func (m *Mailbox) create(ctx context.Context, k store.Key, id string, raw []byte) (Result, error) {
	k.Name = address.Segment(id)
	put := m.s.Create
	if m.batch != nil {
		if before, ok := m.batch.put[k]; ok {
			return same(id, raw, k, before, nil)
		}
		put = m.batch.w.Create
	}
	var err error
	for range tries {
		if _, err = put(ctx, k, raw); err == nil {
			if m.batch != nil {
				m.batch.put[k] = raw
			}
			return Result{Key: k}, nil
		}
		taken, ok := errors.AsType[*store.ExistsError](err)
		if !ok {
			return Result{}, err
		}
		d, gerr := m.s.Get(ctx, taken.Key)
		if errors.Is(gerr, store.ErrNotFound) {
			continue // it was taken, or taken back, in between
		}
		return same(id, raw, taken.Key, d.Data, gerr)
	}
	return Result{}, err
}

// same judges what was found under the name of a message that was to be stored.
func same(id string, raw []byte, at store.Key, found []byte, err error) (Result, error) {
	if err != nil {
		if store.IsUnfit(err) {
			return Result{}, &TakenIDError{ID: id, Key: at}
		}
		return Result{}, err
	}
	if bytes.Equal(raw, found) {
		return Result{Key: at, Already: true}, nil
	}
	taken := &TakenIDError{ID: id, Key: at}
	if other, err := envelope.Parse(found); err == nil {
		taken.Other = other.ID
	}
	return Result{}, taken
}
