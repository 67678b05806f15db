package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"tutti/internal/store"
)

// Read yields the lines after a position that the log has.
func (s *Store) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		if err := s.logDoor(ctx, k, false); err != nil {
			yield(store.Line{}, fail("read", k, err))
			return
		}
		all := s.srv.read(bucketOf(k), k.Subject())
		first := 0
		if from != "" {
			first = after(all, from)
			if first < 0 {
				yield(store.Line{}, fail("read", k, fmt.Errorf("position %q: %w", from, store.ErrConflict)))
				return
			}
		}
		at := from
		for _, m := range all[first:] {
			line := store.Line{At: at, Next: pos(m.seq)}
			err := badLine(k, m)
			if err == nil {
				line.Data = bytes.Clone(m.data)
			}
			if !yield(line, err) {
				return
			}
			at = line.Next
		}
	}
}

// after returns the index of the message that follows a position, -1 when no message ends there.
func after(all []message, p store.Pos) int {
	for i, m := range all {
		if pos(m.seq) == p {
			return i + 1
		}
	}
	return -1
}

// pos spells a sequence as a position.
func pos(seq uint64) store.Pos {
	if seq == 0 {
		return ""
	}
	return store.Pos(strconv.FormatUint(seq, 10))
}

// badLine returns what is wrong with a line that a foreign program added, nil when it is fit.
func badLine(k store.Key, m message) error {
	where := fmt.Sprintf("%s at %d", k.Subject(), m.seq)
	if limit := k.Kind.Spec().ReadLimit; int64(len(m.data)) > limit {
		why := fmt.Sprintf("a line of %d bytes is too large, at most %d are read", len(m.data), limit)
		return &store.UnfitError{Key: k, Where: where, Why: why}
	}
	if !json.Valid(m.data) {
		return &store.UnfitError{Key: k, Where: where, Why: "the line is not valid JSON"}
	}
	return nil
}

// End is the last sequence of the subject.
func (s *Store) End(ctx context.Context, k store.Key) (store.Pos, error) {
	if err := s.logDoor(ctx, k, false); err != nil {
		return "", fail("find the end of", k, err)
	}
	all := s.srv.read(bucketOf(k), k.Subject())
	if len(all) == 0 {
		return "", nil
	}
	return pos(all[len(all)-1].seq), nil
}

// Append adds a line with the sequence that it expects as the last one of the subject.
func (s *Store) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	err := s.logDoor(ctx, k, true)
	if err == nil {
		err = checkLine(k, line)
	}
	if err != nil {
		return "", fail("append to", k, err)
	}
	want, err := expected(after)
	if err == nil {
		var seq uint64
		if seq, err = s.srv.add(bucketOf(k), k.Subject(), want, bytes.Clone(line)); err == nil {
			return pos(seq), nil
		}
	}
	return "", fail("append to", k, fmt.Errorf("after %q: %w", after, store.ErrConflict))
}

// expected is the last sequence that a position stands for, nil for any.
func expected(p store.Pos) (*uint64, error) {
	switch p {
	case store.AnyEnd:
		return nil, nil
	case "":
		return new(uint64), nil
	}
	seq, err := strconv.ParseUint(string(p), 10, 64)
	if err == nil && pos(seq) != p {
		err = errors.New("misspelled position")
	}
	return &seq, err
}

// checkLine refuses what would not be one good line.
func checkLine(k store.Key, line []byte) error {
	switch {
	case len(line) == 0:
		return errors.New("the line is empty")
	case bytes.IndexByte(line, '\n') >= 0:
		return errors.New("the line holds a line feed")
	case !json.Valid(line):
		return errors.New("the line is not valid JSON")
	}
	return checkSize(k, "a line", len(line))
}

var _ store.Shrinker = (*Store)(nil)

// Shrink deletes messages of a log of ours. What is left keeps its sequences.
func (s *Store) Shrink(ctx context.Context, k store.Key, keep func(line []byte) bool) (int, error) {
	err := s.logDoor(ctx, k, true)
	if err == nil && !k.Kind.Spec().Shrinks {
		err = fmt.Errorf("others write it: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return 0, fail("shrink", k, err)
	}
	return s.srv.shrink(bucketOf(k), k.Subject(), func(m message) bool {
		return badLine(k, m) != nil || keep(bytes.Clone(m.data))
	}), nil
}

// PlantLine adds a line as a foreign program would: it may be no JSON or too large.
func (s *Store) PlantLine(k store.Key, line []byte) error {
	if err := k.Check(); err != nil {
		return fail("plant a line in", k, err)
	}
	_, err := s.srv.add(bucketOf(k), k.Subject(), nil, bytes.Clone(line))
	return err
}

// Recreate makes a log anew with other lines, as a person would who repairs one. Positions of the old one are no longer
// known.
func (s *Store) Recreate(k store.Key, lines ...[]byte) error {
	if err := k.Check(); err != nil {
		return fail("recreate", k, err)
	}
	s.srv.recreate(bucketOf(k), k.Subject())
	for _, line := range lines {
		if err := s.PlantLine(k, line); err != nil {
			return err
		}
	}
	return nil
}

var _ store.Logger = (*Store)(nil)

// Logs yields the names of the subjects that have lines.
func (s *Store) Logs(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := store.CheckLogs(kind)
		if err == nil {
			err = s.usable(ctx, false)
		}
		if err != nil {
			yield("", fail("list logs", store.Key{Kind: kind}, err))
			return
		}
		for _, subject := range s.srv.logs(kind.Spec().Bucket, kind.String()+".") {
			if k, err := store.ParseSubject(subject); err == nil && !yield(k.Name, nil) {
				return
			}
		}
	}
}
