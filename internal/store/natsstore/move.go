package natsstore

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/store"
)

// Move creates the target and then deletes the source. The process that created the target has won, even if another one, which
// found the twin, was faster with the deletion.
func (s *Store) Move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	err := s.door(ctx, from, true)
	if err == nil {
		err = s.door(ctx, to, true)
	}
	if err == nil {
		err = s.move(ctx, from, old, to)
	}
	if err != nil {
		return fail("move", from, fmt.Errorf("to %s: %w", to, err))
	}
	return nil
}

func (s *Store) move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	source, err := s.present(ctx, from, old)
	if err == nil {
		err = s.checkSize(to, "data", len(source.data))
	}
	if err != nil {
		return err
	}
	target, err := s.create(ctx, message{key: to, data: source.data, from: passage(from, source)}, anything)
	if err != nil {
		if errors.Is(err, store.ErrExists) && isTwin(target, source) {
			// Another process took it. An error means that the source has been deleted already.
			_, _ = s.drop(ctx, source, to)
			return store.ErrNotFound
		}
		return err
	}
	if s.between != nil {
		if err := s.between(ctx); err != nil {
			return err
		}
	}
	_, err = s.drop(ctx, source, to)
	if !errors.Is(err, errWrongLast) {
		return err
	}
	found, err := s.last(ctx, from)
	if err != nil || found.to == passage(to, source) {
		return err
	}
	// Another process deleted, rewrote or moved the source in between: nothing was taken.
	undo := message{key: to, deleted: true}
	if _, err := s.put(ctx, undo, &target.seq); err != nil && !errors.Is(err, errWrongLast) {
		return err
	}
	return overtaken(found)
}

// drop puts a deletion marker in place of exactly this message, which says where its document went.
func (s *Store) drop(ctx context.Context, m message, to store.Key) (message, error) {
	return s.put(ctx, message{key: m.key, deleted: true, to: passage(to, m)}, &m.seq)
}

// settled returns the last message of a key; its seq is 0 for one whose move had to be finished. For the inbox that is
// one question about both sides.
func (s *Store) settled(ctx context.Context, k store.Key) (message, error) {
	if k.Kind != store.Inbox {
		return s.last(ctx, k)
	}
	source, target := message{key: k}, message{}
	err := s.lasts(ctx, homeOf(k.Kind), []store.Key{k, archived(k)}, func(m message) {
		if m.key == k {
			source = m
		} else {
			target = m
		}
	})
	if err != nil {
		return message{}, err
	}
	if source.there() && isTwin(target, source) {
		s.finishMove(ctx, source)
		return message{key: k}, nil
	}
	return source, nil
}

// finishMove deletes a message of the inbox that was moved to the archive by a process that died before deleting it.
func (s *Store) finishMove(ctx context.Context, source message) {
	if !s.opt.ReadOnly {
		_, _ = s.drop(ctx, source, archived(source.key)) // an error leaves it to the next who looks
	}
}

// lasts gives the last message of each key of one stream to fn, in the order of their sequences. Keys without one are
// left out.
func (s *Store) lasts(ctx context.Context, h home, keys []store.Key, fn func(message)) error {
	q := query{}
	for _, k := range keys {
		q.MultiLast = append(q.MultiLast, h.prefix(s.opt.Name)+k.Subject())
	}
	for {
		var end uint64
		left, err := s.page(ctx, h, q, func(m message) {
			end = m.seq
			fn(m)
		})
		if err != nil || left == 0 || end == 0 {
			return err
		}
		q.Seq = end + 1
	}
}

// isTwin tells whether target was made by a Move from this source.
func isTwin(target, source message) bool {
	return target.there() && target.from != "" && target.from == passage(source.key, source)
}

// archived is the key that a message of the inbox has once it was taken.
func archived(k store.Key) store.Key {
	return store.Key{Kind: store.Archive, Owner: k.Owner, Name: k.Name}
}
