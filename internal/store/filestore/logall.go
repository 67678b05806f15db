package filestore

import (
	"context"
	"errors"

	"tutti/internal/store"
)

// ReadAll is Read for callers who fold a long log into something small: each is called with every line, which is theirs only
// until it returns, and what comes back is the position behind the last one. It does not check whether a line is JSON, except
// the last one when it has no line feed; lines that are too long are left out.
//
// It takes the memory of one chunk however long the log is, and makes one position instead of one a line.
func (s *Store) ReadAll(ctx context.Context, k store.Key, from store.Pos, each func(line []byte)) (store.Pos, error) {
	if err := checkLog(ctx, "read", k); err != nil {
		return from, err
	}
	f, info, err := s.openLog(k)
	switch {
	case errors.Is(err, store.ErrNotFound) && from == "":
		return from, nil
	case errors.Is(err, store.ErrNotFound):
		return from, lostPlace(k, from)
	case err != nil:
		return from, err
	}
	defer f.Close()
	off, ok, err := startOf(f, info, from)
	if err != nil {
		return from, s.fail("read", k, err)
	}
	if !ok {
		return from, lostPlace(k, from)
	}
	sc := newScanner(f, info.Size, off, k.Kind.Spec().ReadLimit)
	sc.brief = true
	end := off
	for {
		l, ok, err := sc.next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return from, s.fail("read", k, err)
		}
		if !ok {
			break
		}
		if end = l.next; l.why == "" {
			each(l.data)
		}
	}
	if end == off {
		return from, nil
	}
	pos, err := posAt(f, info.Ino, end)
	if err != nil {
		return from, s.fail("read", k, err)
	}
	return pos, nil
}
