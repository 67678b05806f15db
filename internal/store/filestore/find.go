package filestore

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// Find reads the log as it is now. Lines are checked to be JSON only when they have the key.
func (s *Store) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		if err := s.find(ctx, log, p, key, func(l store.Line) bool { return yield(l, nil) }); err != nil {
			yield(store.Line{}, err)
		}
	}
}

func (s *Store) find(ctx context.Context, log store.Key, p *store.Projection, key string, see func(store.Line) bool) error {
	if err := checkLog(ctx, "find", log); err != nil {
		return err
	}
	f, info, err := s.openLog(log)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sc := newScanner(f, info.Size, 0, log.Kind.Spec().ReadLimit)
	sc.brief = true
	// Whoever runs after a log that grows may never come to its end.
	for at := int64(0); at < info.Size; {
		l, ok, err := sc.next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return s.fail("find in", log, err)
		}
		if !ok {
			return nil
		}
		at = l.next
		if l.why != "" {
			continue
		}
		keys, _, _, err := p.Make(l.data, time.Time{})
		if err != nil || !slices.Contains(keys, key) || !canonjson.Valid(l.data) {
			continue
		}
		line := store.Line{Data: bytes.Clone(l.data), Next: position{info.Ino, l.next, hashTail(l.through)}.pos()}
		if l.at > 0 { // the start is ""
			line.At = position{info.Ino, l.at, hashTail(l.before)}.pos()
		}
		if !see(line) {
			return nil
		}
	}
	return nil
}
