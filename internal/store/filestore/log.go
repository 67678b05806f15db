package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// chunk is how much of a log is read at a time. The memory of a reader is one chunk, or one line if that is longer.
const chunk = 64 << 10

// maxLog bounds a whole log: several million lines. A file that is larger on paper only, all hole, would keep every reader busy.
const maxLog = 1 << 30

// checkLog is the door of every method for logs.
func checkLog(ctx context.Context, op string, k store.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := k.Check(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if !k.Kind.Spec().IsLog() {
		return fmt.Errorf("%s %s: it is a document, no log", op, k)
	}
	return nil
}

// openLog opens a log for reading. A missing one is store.ErrNotFound. The caller closes it.
func (s *Store) openLog(k store.Key) (*atomicfile.File, atomicfile.Info, error) {
	f, info, err := s.root.Open(pathOf(k), false, maxLog)
	if err != nil {
		return nil, info, s.fail("open", k, err)
	}
	if !s.trusted(info.UID) {
		f.Close()
		return nil, info, &store.UnfitError{Key: k, Where: s.where(k), Why: "belongs to another user"}
	}
	return f, info, nil
}

// Read yields the lines of a log. Empty lines are skipped. A last line without a line feed is yielded when it is whole JSON;
// otherwise its writer never acknowledged it and it does not exist yet.
func (s *Store) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		if err := checkLog(ctx, "read", k); err != nil {
			yield(store.Line{}, err)
			return
		}
		f, info, err := s.openLog(k)
		switch {
		case errors.Is(err, store.ErrNotFound) && from == "":
			return
		case errors.Is(err, store.ErrNotFound):
			yield(store.Line{}, lostPlace(k, from))
			return
		case err != nil:
			yield(store.Line{}, err)
			return
		}
		defer f.Close()
		off, ok, err := startOf(f, info, from)
		switch {
		case err != nil:
			yield(store.Line{}, s.fail("read", k, err))
			return
		case !ok:
			yield(store.Line{}, lostPlace(k, from))
			return
		}
		s.readLines(ctx, k, from, f, info, off, yield)
	}
}

func lostPlace(k store.Key, from store.Pos) error {
	return fmt.Errorf("read %s: position %s: %w", k, from, store.ErrConflict)
}

// startOf turns a position into an offset, false when the log no longer has it.
func startOf(f *atomicfile.File, info atomicfile.Info, from store.Pos) (off int64, ok bool, err error) {
	if from == "" {
		return 0, true, nil
	}
	p, ok := parsePos(from)
	if !ok {
		return 0, false, nil
	}
	before, ok, err := p.holds(f, info)
	if err != nil || !ok {
		return 0, false, err
	}
	// After a last line without a line feed only that feed may follow: with anything else the line was not whole.
	if n := len(before); n > 0 && before[n-1] != '\n' {
		var b [1]byte
		if n, err := f.Pread(b[:], p.off); err != nil || n == 1 && b[0] != '\n' {
			return 0, false, err
		}
	}
	return p.off, true, nil
}

// readLines yields the lines from an offset on, which is that of the position from.
func (s *Store) readLines(ctx context.Context, k store.Key, from store.Pos, f *atomicfile.File, info atomicfile.Info, off int64, yield func(store.Line, error) bool) {
	sc := newScanner(f, info.Size, off, k.Kind.Spec().ReadLimit)
	at := from
	for {
		if err := ctx.Err(); err != nil {
			yield(store.Line{}, err)
			return
		}
		l, ok, err := sc.next()
		if err != nil || !ok {
			if err != nil {
				yield(store.Line{}, s.fail("read", k, err))
			}
			return
		}
		if l.gap {
			at = position{info.Ino, l.at, hashTail(l.before)}.pos()
		}
		line := store.Line{Data: l.data, At: at, Next: position{info.Ino, l.next, hashTail(l.through)}.pos()}
		at = line.Next
		var bad error
		if l.why != "" {
			bad = &store.UnfitError{Key: k, Where: fmt.Sprintf("%s at byte %d", s.where(k), l.at), Why: l.why}
		}
		if !yield(line, bad) {
			return
		}
	}
}

// A logLine is one line that a scanner found.
type logLine struct {
	at, next int64
	data     []byte // without the line feed; nil for a bad line
	why      string // what is wrong with it, "" for a good line
	gap      bool   // it does not begin where the one before it ended
	before   []byte // at least the window before at
	through  []byte // at least the window before next
}

// A scanner cuts a log into lines. Each chunk has its own memory, so lines may be kept; not so when it is brief.
type scanner struct {
	f     *atomicfile.File
	size  int64 // of the log when it was opened: a hint for the first chunk
	limit int64 // of a line
	buf   []byte
	base  int64 // offset of buf[0]
	pos   int   // of the next line in buf; at least the window lies before it, unless the log begins there
	last  int64 // where the line before ended
	ended bool  // a read came back short: what is added from now on is for the next reader
	brief bool  // lines are looked at once: chunks share one memory, and only a last line without an end has to be JSON
}

func newScanner(f *atomicfile.File, size, off, limit int64) *scanner {
	base := max(0, off-window)
	return &scanner{f: f, size: size, limit: limit, base: base, pos: int(off - base), last: off}
}

// next returns the next line that is not empty, false at the end.
func (s *scanner) next() (logLine, bool, error) {
	for {
		if s.pos <= len(s.buf) {
			if i := bytes.IndexByte(s.buf[s.pos:], '\n'); i >= 0 {
				start := s.pos
				s.pos += i + 1
				if l, ok := s.line(start, start+i, s.pos); ok {
					return l, true, nil
				}
				continue
			}
			if int64(len(s.buf)-s.pos) > s.limit {
				return s.skip()
			}
		}
		more, err := s.fill()
		if err != nil {
			return logLine{}, false, err
		}
		if !more {
			start, end := s.pos, len(s.buf)
			s.pos = end
			s.brief = false
			l, ok := s.line(start, end, end)
			return l, ok && l.why == "", nil // what is torn does not exist yet
		}
	}
}

// line makes the line buf[start:end], after which the next one begins at buf[next]; false when it is empty.
func (s *scanner) line(start, end, next int) (logLine, bool) {
	if start > end {
		return logLine{}, false
	}
	data := s.buf[start:end]
	if len(bytes.TrimSpace(data)) == 0 {
		return logLine{}, false
	}
	l := logLine{
		at: s.base + int64(start), next: s.base + int64(next),
		data: data[:len(data):len(data)], before: s.buf[:start], through: s.buf[:next],
	}
	l.gap, s.last = l.at != s.last, l.next
	switch {
	case int64(end-start) > s.limit:
		l.data, l.why = nil, tooLong(s.limit)
	case !s.brief && !canonjson.Valid(data):
		l.data, l.why = nil, "is not valid JSON"
	}
	return l, true
}

func tooLong(limit int64) string { return fmt.Sprintf("is longer than %d bytes", limit) }

// fill reads on: what is unread and the window before it move into a new buffer. False at the end of the log.
func (s *scanner) fill() (bool, error) {
	if s.ended {
		return false, nil
	}
	keep := max(0, min(s.pos, len(s.buf))-window)
	rest := s.buf[keep:]
	off := s.base + int64(len(s.buf))
	want := max(chunk, len(rest)) // doubling keeps a long line linear
	if left := s.size - off; left >= 0 && left < int64(want) {
		want = int(left) + 1 // a short log needs no whole chunk; the byte more tells whether it has grown
	}
	var next []byte
	if size := len(rest) + want; s.brief && cap(s.buf) >= size {
		next = s.buf[:size]
	} else {
		next = make([]byte, size)
	}
	copy(next, rest)
	s.base, s.pos, s.buf = s.base+int64(keep), s.pos-keep, next[:len(rest)]
	n, err := s.f.Pread(next[len(rest):], off)
	s.ended = n < want
	if err != nil || n == 0 {
		return false, err
	}
	s.buf = next[:len(rest)+n]
	return true, nil
}

// skip passes over a line that is longer than the limit. One without an end is torn.
func (s *scanner) skip() (logLine, bool, error) {
	l := logLine{at: s.base + int64(s.pos), why: tooLong(s.limit), before: s.buf[:s.pos]}
	l.gap = l.at != s.last
	for {
		s.pos = len(s.buf)
		off := s.base + int64(s.pos)
		switch data, there := s.f.NextData(off); {
		case !there: // a hole to the end, which may be a tebibyte
			return logLine{}, false, nil
		case data > off:
			s.base, s.pos, s.buf = data, 0, nil
		}
		more, err := s.fill()
		if err != nil || !more {
			return logLine{}, false, err
		}
		if i := bytes.IndexByte(s.buf[s.pos:], '\n'); i >= 0 {
			s.pos += i + 1
			l.next, l.through = s.base+int64(s.pos), s.buf[:s.pos]
			s.last = l.next
			return l, true, nil
		}
	}
}
