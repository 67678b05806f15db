package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

var _ store.Shrinker = (*Store)(nil)

// Shrink puts a shorter file in the place of a log of ours, under the lock that every line is added under: who waits for it opens the
// new file, and who reads the old one reads it to its end. Other logs are written by foreign programs that keep no lock, or
// one that they give up after a while, and are never replaced.
func (s *Store) Shrink(ctx context.Context, k store.Key, keep func(line []byte) bool) (gone int, err error) {
	err = checkLog(ctx, "shrink", k)
	switch {
	case err != nil:
	case s.readOnly:
		err = fmt.Errorf("shrink %s: %w", k, store.ErrReadOnly)
	case !k.Kind.Spec().Shrinks:
		err = fmt.Errorf("shrink %s: others write it: %w", k, errors.ErrUnsupported)
	default:
		gone, err = s.shrink(ctx, k, keep)
	}
	if err != nil {
		return 0, s.failWrite("shrink", k, err)
	}
	return gone, nil
}

func (s *Store) shrink(ctx context.Context, k store.Key, keep func(line []byte) bool) (gone int, err error) {
	rel, base := home(k)
	d, err := s.root.Sub(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer d.Close()
	h, err := s.lock(ctx, k, d)
	if err != nil {
		return 0, err
	}
	defer h.release()
	old, info, err := d.Read(base, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !s.trusted(info.UID) {
		return 0, &store.UnfitError{Key: k, Where: s.where(k), Why: "belongs to another user"}
	}
	next := make([]byte, 0, len(old))
	for line := range bytes.Lines(old) {
		if drops(line, k.Kind.Spec().ReadLimit, keep) {
			gone++
			continue
		}
		next = append(next, line...)
	}
	if gone == 0 {
		return 0, nil
	}
	if err := errors.Join(ctx.Err(), h.check()); err != nil {
		return 0, err
	}
	if err := d.Replace(base, next, permOf(info), true); err != nil {
		return 0, err
	}
	s.sweep(rel, d)
	return gone, nil
}

// drops tells whether a line, with its line feed, goes. Invalid lines are kept, and a last one without a line feed may be torn.
func drops(line []byte, limit int64, keep func([]byte) bool) bool {
	data, whole := bytes.CutSuffix(line, []byte("\n"))
	return whole && int64(len(data)) <= limit && canonjson.Valid(data) && !keep(data)
}

// permOf is the mode of a file that takes the place of another one.
func permOf(info atomicfile.Info) fs.FileMode { return fs.FileMode(info.Mode).Perm() }
