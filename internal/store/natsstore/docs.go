package natsstore

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/store"
)

// Get returns the document. If the archive has its twin, Get deletes the document and reports it as not found: it was moved,
// and the mover died before it deleted the source.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	err := s.door(ctx, k, false)
	var m message
	if err == nil {
		m, err = s.settled(ctx, k)
	}
	if err == nil && !m.there() {
		err = store.ErrNotFound
	}
	if err == nil {
		err = unfit(m)
	}
	if err != nil {
		return store.Doc{}, fail("get", k, err)
	}
	return store.Doc{Key: k, Rev: store.Rev(m.rev()), Data: m.data, Stored: m.at}, nil
}

// unfit returns what is wrong with a message that a foreign program stored, nil when it is a document.
func unfit(m message) error {
	if limit := m.key.Kind.Spec().ReadLimit; m.size > limit {
		why := fmt.Sprintf("%d bytes are too large, at most %d are read", m.size, limit)
		return &store.UnfitError{Key: m.key, Where: m.key.Subject(), Why: why}
	}
	return nil
}

// Create stores data if the key is free: never used, or its last message is a deletion marker.
func (s *Store) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	err := s.door(ctx, k, true)
	if err == nil {
		err = s.checkSize(k, "data", len(data))
	}
	if err == nil {
		err = s.taken(ctx, k)
	}
	var m message
	if err == nil {
		m, err = s.create(ctx, message{key: k, data: data}, s.taken)
	}
	if err != nil {
		return "", fail("create", k, err)
	}
	return store.Rev(m.rev()), nil
}

// anything refuses nothing.
func anything(context.Context, store.Key) error { return nil }

// taken refuses a message that was in the inbox before and is in the archive now.
func (s *Store) taken(ctx context.Context, k store.Key) error {
	if k.Kind != store.Inbox {
		return nil
	}
	m, err := s.last(ctx, archived(k))
	if err == nil && m.there() {
		err = &store.ExistsError{Key: m.key, Rev: store.Rev(m.rev())}
	}
	return err
}

// create stores a document as the first message of its subject, else after a deletion marker. Before the latter it asks
// again, because the marker may be that of a Move which came after the first question. The publication is bound to that
// marker, so nothing can come after the second one. With an ExistsError it returns what was found.
func (s *Store) create(ctx context.Context, m message, again func(context.Context, store.Key) error) (message, error) {
	var want uint64
	for {
		made, err := s.put(ctx, m, &want)
		if !errors.Is(err, errWrongLast) {
			return made, err
		}
		found, err := s.last(ctx, m.key)
		if err != nil {
			return message{}, err
		}
		if found.there() {
			return found, &store.ExistsError{Key: m.key, Rev: store.Rev(found.rev())}
		}
		if err := again(ctx, m.key); err != nil {
			return message{}, err
		}
		want, m.to = found.seq, found.to
	}
}

// Replace stores data if the last message is still old.
func (s *Store) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	err := s.door(ctx, k, true)
	if err == nil && k.Kind.Spec().Class == store.Once {
		err = fmt.Errorf("a %s is never rewritten", k.Kind)
	}
	if err == nil {
		err = s.checkSize(k, "data", len(data))
	}
	var m message
	if err == nil {
		m, err = s.update(ctx, message{key: k, data: data}, old)
	}
	if err != nil {
		return "", fail("replace", k, err)
	}
	return store.Rev(m.rev()), nil
}

// Delete leaves a marker in place of the last message if that is still old.
func (s *Store) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	err := s.door(ctx, k, true)
	if err == nil {
		_, err = s.update(ctx, message{key: k, deleted: true}, old)
	}
	if err != nil {
		return fail("delete", k, err)
	}
	return nil
}

// present returns the document of a key if it is old.
func (s *Store) present(ctx context.Context, k store.Key, old store.Rev) (message, error) {
	found, err := s.settled(ctx, k)
	switch {
	case err != nil:
		return message{}, err
	case !found.there():
		return message{}, store.ErrNotFound
	case store.Rev(found.rev()) != old:
		return message{}, store.ErrConflict
	}
	return found, nil
}

// update stores a message in place of the document old.
func (s *Store) update(ctx context.Context, m message, old store.Rev) (message, error) {
	found, err := s.present(ctx, m.key, old)
	if err != nil {
		return message{}, err
	}
	m.to = found.to
	made, err := s.put(ctx, m, &found.seq)
	if !errors.Is(err, errWrongLast) {
		return made, err
	}
	if found, err = s.last(ctx, m.key); err != nil {
		return message{}, err
	}
	return message{}, overtaken(found)
}

// overtaken returns what another process, which was faster, has made of a document.
func overtaken(found message) error {
	if found.there() {
		return store.ErrConflict
	}
	return store.ErrNotFound
}
