package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// Append adds one line under the lock of the log, with one write, so that the line is there whole or, after a crash, as a torn
// tail that no reader takes for a line. A write or sync that fails is cut off again before the lock is given back.
//
// In logs whose foreign writers keep no lock one of them may add a line in the instant of ours. Theirs stays, and the position
// returned then is the one before both, so that a caller who reads on misses none.
func (s *Store) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	return s.add(ctx, k, after, line, [][]byte{line})
}

var _ store.Extender = (*Store)(nil)

// Extend adds all lines with one write under the lock. What a crash leaves of it is whole lines and perhaps a torn tail.
func (s *Store) Extend(ctx context.Context, k store.Key, after store.Pos, lines [][]byte) (store.Pos, error) {
	if len(lines) == 0 {
		return after, nil
	}
	return s.add(ctx, k, after, bytes.Join(lines, []byte{'\n'}), lines)
}

// add writes text, which is lines with a line feed between them.
func (s *Store) add(ctx context.Context, k store.Key, after store.Pos, text []byte, lines [][]byte) (store.Pos, error) {
	err := checkLog(ctx, "append to", k)
	if err == nil && s.readOnly {
		err = fmt.Errorf("append to %s: %w", k, store.ErrReadOnly)
	}
	for n := 0; err == nil && n < len(lines); n++ {
		err = checkLine(k, lines[n])
	}
	var end store.Pos
	for try := 0; err == nil; try++ {
		end, err = s.append(ctx, k, after, text)
		if try+1 == tries || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = nil // the folder went away in between
	}
	if err != nil {
		return "", s.failWrite("append to", k, err)
	}
	return end, nil
}

// checkLine refuses what would not be one good line.
func checkLine(k store.Key, line []byte) error {
	why := ""
	switch limit := k.Kind.Spec().WriteLimit; {
	case len(line) == 0:
		why = "is empty"
	case bytes.IndexByte(line, '\n') >= 0:
		why = "holds a line feed"
	case int64(len(line)) > limit:
		why = fmt.Sprintf("has %d bytes, at most %d are written", len(line), limit)
	case !canonjson.Valid(line):
		why = "is not valid JSON"
	default:
		return nil
	}
	return &store.UnfitError{Key: k, Where: "line for " + k.String(), Why: why}
}

func (s *Store) append(ctx context.Context, k store.Key, after store.Pos, text []byte) (store.Pos, error) {
	rel, base := home(k)
	d, err := s.makeHome(rel)
	if err != nil {
		return "", err
	}
	defer d.Close()
	h, err := s.lock(ctx, k, d)
	if err != nil {
		return "", err
	}
	defer h.release()
	if after != "" && after != store.AnyEnd {
		if _, err := d.Stat(base); errors.Is(err, fs.ErrNotExist) {
			return "", store.ErrConflict // and no empty log is made
		}
	}
	f, info, created, err := d.Append(base, maxLog)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !s.trusted(info.UID) {
		return "", &store.UnfitError{Key: k, Where: s.where(k), Why: "belongs to another user"}
	}
	t, err := s.tailOf(k, f, info)
	if err != nil {
		return "", err
	}
	if ok, err := t.endsAt(f, info, after); err != nil || !ok {
		return "", errors.Join(err, conflictIf(!ok))
	}
	if err := h.check(); err != nil {
		return "", err
	}
	if err := s.repair(ctx, k, f, &t); err != nil {
		return "", err
	}
	end, err := s.write(k, f, info, t, text)
	if err == nil && created && k.Kind.Spec().Durability != store.None {
		err = d.Sync()
	}
	return end, err
}

func conflictIf(yes bool) error {
	if yes {
		return store.ErrConflict
	}
	return nil
}

// A tail is how a log ends.
type tail struct {
	size int64  // of the file
	end  int64  // what readers have seen when they have seen all
	torn []byte // a last line of a strict log that is not valid JSON: it begins at end, and is cut off before a line is added
	lead bool   // the last line lacks its line feed
}

// tailOf looks at the end of an open log. One read of the last bytes is enough when it ends in a line feed.
func (s *Store) tailOf(k store.Key, f *atomicfile.File, info atomicfile.Info) (tail, error) {
	t := tail{size: info.Size, end: info.Size}
	last, err := readWindow(f, info.Size)
	if err != nil || len(last) == 0 || last[len(last)-1] == '\n' {
		return t, err
	}
	// What is longer than the largest thing that quarantine takes is not a torn write: a person has to look.
	limit := store.Quarantine.Spec().WriteLimit
	start, line, err := lastLine(f, info.Size, limit)
	if err != nil {
		return t, err
	}
	if start < 0 {
		where := fmt.Sprintf("%s at its end", s.where(k))
		return t, &store.UnfitError{Key: k, Where: where, Why: fmt.Sprintf("has no line feed in the last %d bytes", limit)}
	}
	whole := len(bytes.TrimSpace(line)) == 0 || canonjson.Valid(line)
	switch {
	case whole:
		t.lead = true
	case k.Kind.Spec().Class == store.StrictLog:
		t.end, t.torn = start, line
	default:
		t.end, t.lead = start, true
	}
	return t, nil
}

var _ store.Ender = (*Store)(nil)

// End looks at the last bytes of a log only. A torn last line does not exist yet, so the log ends before it.
func (s *Store) End(ctx context.Context, k store.Key) (store.Pos, error) {
	if err := checkLog(ctx, "find the end of", k); err != nil {
		return "", err
	}
	f, info, err := s.openLog(k)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	t, err := s.tailOf(k, f, info)
	if err == nil && t.end == 0 {
		return "", nil
	}
	var end store.Pos
	if err == nil {
		end, err = posAt(f, info.Ino, t.end)
	}
	if err != nil {
		return "", s.fail("find the end of", k, err)
	}
	return end, nil
}

// lastLine reads the line that ends at size without a line feed, backwards; start is -1 when it is longer than limit.
func lastLine(f *atomicfile.File, size, limit int64) (start int64, line []byte, err error) {
	for want := int64(4 << 10); ; want *= 4 {
		want = min(want, size, limit+1)
		buf := make([]byte, want)
		n, err := f.Pread(buf, size-want)
		if err != nil {
			return 0, nil, err
		}
		buf = buf[:n]
		if i := bytes.LastIndexByte(buf, '\n'); i >= 0 {
			return size - want + int64(i) + 1, buf[i+1:], nil
		}
		if want == size {
			return 0, buf, nil
		}
		if want > limit {
			return -1, nil, nil
		}
	}
}

// endsAt tells whether the log ends where the caller has read to. Empty lines behind that make no difference.
func (t tail) endsAt(f *atomicfile.File, info atomicfile.Info, after store.Pos) (bool, error) {
	off := int64(0)
	switch after {
	case store.AnyEnd:
		return true, nil
	case "":
	default:
		p, ok := parsePos(after)
		if !ok {
			return false, nil
		}
		if _, ok, err := p.holds(f, info); err != nil || !ok {
			return false, err
		}
		off = p.off
	}
	const much = 4 << 10 // more than this is not only line feeds
	between := t.end - off
	if between < 0 || between > much {
		return false, nil
	}
	buf := make([]byte, between)
	n, err := f.Pread(buf, off)
	return err == nil && len(bytes.TrimSpace(buf[:n])) == 0, err
}

// repair copies a torn last line of a strict log to quarantine, durably, and cuts it off. It was never acknowledged; with a
// line feed added it would become a bad inner line, on which the existing programs stop for good.
func (s *Store) repair(ctx context.Context, k store.Key, f *atomicfile.File, t *tail) error {
	if t.torn == nil {
		return nil
	}
	rev := revOf(t.torn)
	stamp := strings.NewReplacer("-", "", ":", "").Replace(s.now().UTC().Format(timeFormat))
	const room = 120 // of the name of the log: a key part has at most 200 bytes
	name := fmt.Sprintf("%s%s-torn-%s", k.Name[:min(len(k.Name), room)], stamp, rev[:8])
	copied := store.Key{Kind: store.Quarantine, Owner: k.Kind.String(), Name: name}
	if _, err := s.Create(ctx, copied, t.torn); err != nil {
		if taken, ok := errors.AsType[*store.ExistsError](err); !ok || taken.Rev != rev {
			return fmt.Errorf("keep its torn last line: %w", err)
		}
	}
	if err := f.Truncate(t.end); err != nil {
		return err
	}
	t.size, t.torn = t.end, nil
	return nil
}

// write adds the text of one line or several and makes it as durable as the kind asks for.
func (s *Store) write(k store.Key, f *atomicfile.File, info atomicfile.Info, t tail, text []byte) (store.Pos, error) {
	out := make([]byte, 0, len(text)+2)
	if t.lead {
		out = append(out, '\n')
	}
	out = append(append(out, text...), '\n')
	n, err := f.Append(out)
	if err == nil && k.Kind.Spec().Durability != store.None {
		err = f.Datasync()
	}
	after, serr := f.Stat()
	alone := serr == nil && after.Size == t.size+int64(n)
	if err != nil {
		if n > 0 && alone {
			_ = f.Truncate(t.size) // should this fail too, the next writer does it: the rest is torn, or whole and not ours to deny
		}
		return "", err
	}
	if !alone {
		return posAt(f, info.Ino, t.size)
	}
	return posAt(f, info.Ino, t.size+int64(n))
}
