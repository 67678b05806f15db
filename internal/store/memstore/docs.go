package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"tutti/internal/store"
)

// Get returns the document. If the archive has its twin, Get deletes the document and reports it as not found: it was moved,
// and the mover died before it deleted the source.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	if err := s.door(ctx, k, false); err != nil {
		return store.Doc{}, fail("get", k, err)
	}
	m := s.last(k)
	if m.seq == 0 || m.deleted {
		return store.Doc{}, fail("get", k, store.ErrNotFound)
	}
	if err := unfit(k, m); err != nil {
		return store.Doc{}, fail("get", k, err)
	}
	return store.Doc{Key: k, Rev: rev(m.seq), Data: bytes.Clone(m.data), Stored: m.at}, nil
}

// List yields the documents of one owner.
func (s *Store) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := s.listDoor(ctx, kind, owner); err != nil {
			yield(store.Entry{}, fail("list", store.Key{Kind: kind, Owner: owner}, err))
			return
		}
		prefix := store.Key{Kind: kind, Owner: owner}.Subject()
		for subject, m := range s.srv.list(kind.Spec().Bucket, prefix) {
			k, err := store.ParseSubject(subject)
			if err != nil || s.finishMove(k, m) {
				continue
			}
			if !yield(store.Entry{Key: k, Size: int64(len(m.data)), Stored: m.at}, unfit(k, m)) {
				return
			}
		}
	}
}

// listDoor is the door for a kind and an owner: any name will do in its key.
func (s *Store) listDoor(ctx context.Context, kind store.Kind, owner string) error {
	k := store.Key{Kind: kind, Owner: owner}
	if slices.Contains(store.Kinds(), kind) && kind.Spec().HasName() {
		k.Name = "any"
	}
	return s.door(ctx, k, false)
}

// Owners yields the owners of a kind that have documents.
func (s *Store) Owners(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.listDoor(ctx, kind, "any"); err != nil {
			yield("", fail("list owners of", store.Key{Kind: kind}, err))
			return
		}
		seen := map[string]bool{}
		for subject, m := range s.srv.list(kind.Spec().Bucket, kind.String()) {
			k, err := store.ParseSubject(subject)
			if err != nil || seen[k.Owner] || s.finishMove(k, m) {
				continue
			}
			seen[k.Owner] = true
			if !yield(k.Owner, nil) {
				return
			}
		}
	}
}

// Create stores data if the key is free: never used, or its last message is a deletion marker.
func (s *Store) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	err := s.door(ctx, k, true)
	if err == nil {
		err = checkSize(k, "data", len(data))
	}
	if err == nil {
		err = s.taken(k)
	}
	if err != nil {
		return "", fail("create", k, err)
	}
	m, err := s.create(k, message{data: bytes.Clone(data)}, s.taken)
	if err != nil {
		return "", fail("create", k, err)
	}
	return rev(m.seq), nil
}

// anything refuses nothing.
func anything(store.Key) error { return nil }

// taken refuses a message that was in the inbox before and is in the archive now.
func (s *Store) taken(k store.Key) error {
	if k.Kind != store.Inbox {
		return nil
	}
	twin := archived(k)
	if m := s.last(twin); m.seq != 0 && !m.deleted {
		return &store.ExistsError{Key: twin, Rev: rev(m.seq)}
	}
	return nil
}

// create is the two requests of a creation: as the first message of the subject, else after a deletion marker. In between
// it asks again, because the marker may be that of a Move which came after the first question. The second request is
// bound to that marker, so nothing can come after the second one.
func (s *Store) create(k store.Key, m message, again func(store.Key) error) (message, error) {
	var want uint64
	for {
		found, err := s.srv.put(bucketOf(k), k.Subject(), want, m)
		switch {
		case err == nil:
			return found, nil
		case found.seq != 0 && !found.deleted:
			return found, &store.ExistsError{Key: k, Rev: rev(found.seq)}
		}
		if err := again(k); err != nil {
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
		err = checkSize(k, "data", len(data))
	}
	if err != nil {
		return "", fail("replace", k, err)
	}
	m, err := s.update(k, old, message{data: bytes.Clone(data)})
	if err != nil {
		return "", fail("replace", k, err)
	}
	return rev(m.seq), nil
}

// Delete leaves a marker in place of the last message if that is still old.
func (s *Store) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	err := s.door(ctx, k, true)
	if err == nil {
		_, err = s.update(k, old, message{deleted: true})
	}
	if err != nil {
		return fail("delete", k, err)
	}
	return nil
}

// update stores a message in place of the document old.
func (s *Store) update(k store.Key, old store.Rev, m message) (message, error) {
	found := s.last(k)
	if found.seq == 0 || found.deleted {
		return found, store.ErrNotFound
	}
	if rev(found.seq) != old {
		return found, store.ErrConflict
	}
	stored, err := s.srv.put(bucketOf(k), k.Subject(), found.seq, m)
	switch {
	case err == nil:
		return stored, nil
	case stored.seq == 0 || stored.deleted:
		return stored, store.ErrNotFound
	}
	return stored, store.ErrConflict
}

// Move creates the target and then deletes the source. The process that created the target has won, even if another one, which
// found the twin, was faster with the deletion.
func (s *Store) Move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	err := s.door(ctx, from, true)
	if err == nil {
		err = s.door(ctx, to, true)
	}
	if err == nil {
		err = s.move(from, old, to)
	}
	if err != nil {
		return fail("move", from, fmt.Errorf("to %s: %w", to, err))
	}
	return nil
}

func (s *Store) move(from store.Key, old store.Rev, to store.Key) error {
	source := s.last(from)
	if source.seq == 0 || source.deleted {
		return store.ErrNotFound
	}
	if rev(source.seq) != old {
		return store.ErrConflict
	}
	if err := checkSize(to, "data", len(source.data)); err != nil {
		return err
	}
	target, err := s.create(to, message{data: source.data, from: passage{from.Subject(), source.seq}}, anything)
	if err != nil {
		if isTwin(target, from, source) {
			_, _ = s.drop(from, source, to)
			return store.ErrNotFound // another process took it
		}
		return err
	}
	if s.opt.Between != nil {
		if err := s.opt.Between(from, to); err != nil {
			return err
		}
	}
	found, err := s.drop(from, source, to)
	if err == nil || found.to == (passage{to.Subject(), source.seq}) {
		return nil
	}
	// Another process deleted, rewrote or moved the source in between: nothing was taken.
	_, _ = s.srv.put(bucketOf(to), to.Subject(), target.seq, message{deleted: true})
	if found.seq == 0 || found.deleted {
		return store.ErrNotFound
	}
	return store.ErrConflict
}

// drop puts a deletion marker in place of exactly this message, which says where its document went.
func (s *Store) drop(k store.Key, m message, to store.Key) (message, error) {
	marker := message{deleted: true, to: passage{to.Subject(), m.seq}}
	return s.srv.put(bucketOf(k), k.Subject(), m.seq, marker)
}

// last returns the last message of a key; its seq is 0 for one whose move it had to finish.
func (s *Store) last(k store.Key) message {
	m := s.srv.get(bucketOf(k), k.Subject())
	if s.finishMove(k, m) {
		return message{}
	}
	return m
}

// finishMove deletes a message of the inbox that was moved to the archive by a process that died before deleting it, and
// reports whether it was one.
func (s *Store) finishMove(k store.Key, m message) bool {
	if k.Kind != store.Inbox || m.seq == 0 || m.deleted {
		return false
	}
	to := archived(k)
	if !isTwin(s.srv.get(bucketOf(to), to.Subject()), k, m) {
		return false
	}
	if !s.readOnly {
		_, _ = s.drop(k, m, to) // an error says that another process has done it
	}
	return true
}

// isTwin tells whether target was made by a Move from this source.
func isTwin(target message, from store.Key, source message) bool {
	return !target.deleted && target.from == (passage{from.Subject(), source.seq})
}

// archived is the key that a message of the inbox has once it was taken.
func archived(k store.Key) store.Key {
	return store.Key{Kind: store.Archive, Owner: k.Owner, Name: k.Name}
}

func bucketOf(k store.Key) string { return k.Kind.Spec().Bucket }

// rev spells a sequence as a revision.
func rev(seq uint64) store.Rev {
	if seq == 0 {
		return ""
	}
	return store.Rev(strconv.FormatUint(seq, 10))
}

// unfit returns what is wrong with a message that a foreign program stored, nil when it is a document.
func unfit(k store.Key, m message) error {
	if limit := k.Kind.Spec().ReadLimit; int64(len(m.data)) > limit {
		why := fmt.Sprintf("%d bytes are too large, at most %d are read", len(m.data), limit)
		return &store.UnfitError{Key: k, Where: k.Subject(), Why: why}
	}
	return nil
}

// Plant stores data as a foreign program would: over any content, whatever the size.
func (s *Store) Plant(k store.Key, data []byte) error {
	if err := k.Check(); err != nil {
		return fail("plant", k, err)
	}
	var want uint64
	for {
		found, err := s.srv.put(bucketOf(k), k.Subject(), want, message{data: bytes.Clone(data)})
		if !errors.Is(err, errWrongLast) {
			return err
		}
		want = found.seq
	}
}
