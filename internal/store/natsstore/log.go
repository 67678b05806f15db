package natsstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"tutti/internal/store"
)

// Read yields the lines after a position that the log has, a page at a time.
func (s *Store) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		err := s.logDoor(ctx, k, false)
		if err == nil {
			err = s.read(ctx, k, from, yield)
		}
		if err != nil {
			yield(store.Line{}, fail("read", k, err))
		}
	}
}

// read yields until the end, an error, or the caller's. The first message asked for is the one that ends at from.
func (s *Store) read(ctx context.Context, k store.Key, from store.Pos, yield func(store.Line, error) bool) error {
	h := homeOf(k.Kind)
	q := query{NextFor: h.prefix(s.opt.Name) + k.Subject(), Batch: pageMessages, Seq: 1}
	at := from
	if from != "" {
		var ok bool
		if q.Seq, ok = seqOf(from); !ok {
			return noPosition(from)
		}
	}
	for checked := from == ""; ; {
		var page []message
		left, err := s.page(ctx, h, q, func(m message) { page = append(page, m) })
		if err != nil {
			return err
		}
		full := len(page) > 0
		if !checked {
			if !full || store.Pos(page[0].rev()) != from {
				return noPosition(from)
			}
			page, checked = page[1:], true
		}
		for _, m := range page {
			line := store.Line{At: at, Next: store.Pos(m.rev())}
			err := badLine(m)
			if err == nil {
				line.Data = m.data
			}
			if !yield(line, err) {
				return nil
			}
			at, q.Seq = line.Next, m.seq
		}
		if left == 0 || !full {
			return nil
		}
		q.Seq++
		if err := s.usable(ctx, false); err != nil {
			return err
		}
	}
}

func noPosition(p store.Pos) error { return fmt.Errorf("position %q: %w", p, store.ErrConflict) }

// seqOf returns the sequence of a position.
func seqOf(p store.Pos) (uint64, bool) {
	digits, _, ok := strings.Cut(string(p), ".")
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, ok && err == nil && seq > 0
}

// badLine returns what is wrong with a line that a foreign program added, nil when it is fit.
func badLine(m message) error {
	bad := func(why string) error {
		return &store.UnfitError{Key: m.key, Where: fmt.Sprintf("%s at %d", m.key.Subject(), m.seq), Why: why}
	}
	if limit := m.key.Kind.Spec().ReadLimit; m.size > limit {
		return bad(fmt.Sprintf("a line of %d bytes is too large, at most %d are read", m.size, limit))
	}
	if !json.Valid(m.data) {
		return bad("the line is not valid JSON")
	}
	return nil
}

// End is the last line's.
func (s *Store) End(ctx context.Context, k store.Key) (store.Pos, error) {
	err := s.logDoor(ctx, k, false)
	var m message
	if err == nil {
		m, err = s.last(ctx, k)
	}
	if err != nil {
		return "", fail("find the end of", k, err)
	}
	return store.Pos(m.rev()), nil
}

// Append adds a line with the sequence that it expects as the last one of the subject.
func (s *Store) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	err := s.logDoor(ctx, k, true)
	if err == nil {
		err = s.checkLine(k, line)
	}
	var want *uint64
	if err == nil && after != store.AnyEnd {
		want, err = s.expected(ctx, k, after)
	}
	var m message
	if err == nil {
		m, err = s.put(ctx, message{key: k, data: line}, want)
	}
	if errors.Is(err, errWrongLast) {
		err = noPosition(after)
	}
	if err != nil {
		return "", fail("append to", k, err)
	}
	return store.Pos(m.rev()), nil
}

// expected is the last sequence that a position stands for. That the position is the end is asked before, because the
// server compares the sequence alone, which a stream that was made anew has too.
func (s *Store) expected(ctx context.Context, k store.Key, after store.Pos) (*uint64, error) {
	if after == "" {
		return new(uint64), nil
	}
	m, err := s.last(ctx, k)
	if err == nil && store.Pos(m.rev()) != after {
		err = noPosition(after)
	}
	return &m.seq, err
}

// checkLine refuses what would not be one good line.
func (s *Store) checkLine(k store.Key, line []byte) error {
	switch {
	case len(line) == 0:
		return errors.New("the line is empty")
	case bytes.IndexByte(line, '\n') >= 0:
		return errors.New("the line holds a line feed")
	case !json.Valid(line):
		return errors.New("the line is not valid JSON")
	}
	return s.checkSize(k, "a line", len(line))
}
