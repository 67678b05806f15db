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
	f, err := Judge(raw)
	if err != nil {
		return Result{}, fmt.Errorf("put message for %s: %w", to, err)
	}
	return m.PutFit(ctx, to, f)
}

// A Fit is a message that was found fit to be stored.
type Fit struct {
	id  string
	raw []byte
}

// Judge is the part of Put that touches no store and may be done ahead: what makes a message invalid is its error.
func Judge(raw []byte) (Fit, error) {
	id, err := checked(raw)
	return Fit{id, raw}, err
}

// Written is Judge for what [envelope.Draft] has written and [envelope.Sign] has signed in this very process: it was judged
// there, and a second time would be a tenth of the work of a send. It also is for what was found to have no [envelope.Problems]
// just before. id is the one in it.
func Written(id string, raw []byte) (Fit, error) {
	if err := address.Check(id); err != nil {
		return Fit{}, err
	}
	return Fit{id, raw}, nil
}

// PutFit is Put for a message that was found fit.
func (m *Mailbox) PutFit(ctx context.Context, to address.Instance, f Fit) (Result, error) {
	if err := address.Check(string(to)); err != nil {
		return Result{}, fmt.Errorf("put message: %w", err)
	}
	r, err := m.create(ctx, store.Key{Kind: store.Inbox, Owner: to.Mailbox()}, f.id, f.raw)
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
// Put, PutFit and PutOutbox may be called on it, and only until fn returns; the bytes must not be changed until then. Where the store knows no batches each is by itself.
func (m *Mailbox) Batch(ctx context.Context, fn func(*Mailbox) error) error {
	b, ok := m.s.(store.Batcher)
	if !ok {
		return fn(m)
	}
	return b.Batch(ctx, func(w store.Writer) error {
		return fn(&Mailbox{Live: m.Live, Projection: m.Projection, s: m.s, batch: &batch{w: w, put: map[store.Key][]byte{}}, anchors: m.anchors})
	})
}

// A batch remembers what was put by it, because readers do not see that yet. It is used by one goroutine.
type batch struct {
	w   store.Writer
	put map[store.Key][]byte
}

// tries is how often a step is begun again after another process took away or changed the file in between.
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
	if m.batch != nil {
		return m.createIn(ctx, k, id, raw)
	}
	var err error
	for range tries {
		_, err = m.s.Create(ctx, k, raw)
		if err == nil {
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

// createIn is create for a batch.
func (m *Mailbox) createIn(ctx context.Context, k store.Key, id string, raw []byte) (Result, error) {
	if before, ok := m.batch.put[k]; ok {
		return same(id, raw, k, before, nil)
	}
	_, err := m.batch.w.Create(ctx, k, raw)
	if err == nil {
		m.batch.put[k] = raw
		return Result{Key: k}, nil
	}
	taken, ok := errors.AsType[*store.ExistsError](err)
	if !ok {
		return Result{}, err
	}
	d, gerr := m.s.Get(ctx, taken.Key)
	if errors.Is(gerr, store.ErrNotFound) {
		return Result{}, err
	}
	return same(id, raw, taken.Key, d.Data, gerr)
}

// Duplicate is the rule of a bus for two messages under one id: with the same bytes they are one message, which was stored before; with other
// bytes the id is taken, and the second one is refused. A sender who repeats a draft under an id of its own sends the old bytes
// again: see mail.Service.SendOnce.
func Duplicate(a, b []byte) bool { return bytes.Equal(a, b) }

// same judges what was found under the name of a message that was to be stored.
func same(id string, raw []byte, at store.Key, found []byte, err error) (Result, error) {
	if err != nil {
		if store.IsUnfit(err) {
			return Result{}, &TakenIDError{ID: id, Key: at}
		}
		return Result{}, err
	}
	if Duplicate(raw, found) {
		return Result{Key: at, Already: true}, nil
	}
	taken := &TakenIDError{ID: id, Key: at}
	if other, err := envelope.Parse(found); err == nil {
		taken.Other = other.ID
	}
	return Result{}, taken
}
