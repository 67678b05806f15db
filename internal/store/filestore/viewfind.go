package filestore

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
	"tutti/internal/store/index"
)

// Find answers from a table of keys in the cache folder, and reads what the log has grown by since. It yields a line only if
// the log has it now and its keys, made from these bytes, hold key; where table and log disagree it reads the log from there
// on.
//
// A log counts as grown when it is the same file, is larger than it was, and begins and ends, where it ended then, with the same
// 4 KiB; otherwise the table is built anew. A program that changes a line in the middle of a log in place, and lets the log
// grow, thus hides the new keys of that line; no program should, logs are only appended to.
func (s *Store) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		err := s.FindEach(ctx, log, p, []string{key}, func(_ string, l store.Line) bool { return yield(l, nil) })
		if err != nil {
			yield(store.Line{}, err)
		}
	}
}

// FindEach is Find for several keys, each of them once: see is called with the lines of each, oldest first, until it returns
// false. The log and the table are opened once, and all keys are looked for in the log as it was then.
func (s *Store) FindEach(ctx context.Context, log store.Key, p *store.Projection, keys []string, see func(key string, l store.Line) bool) error {
	if err := checkLog(ctx, "find", log); err != nil {
		return err
	}
	file, info, err := s.openLog(log)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	f := &finder{s: s, ctx: ctx, log: log, p: p, file: file, info: info, limit: log.Kind.Spec().ReadLimit, see: see}
	f.searches = make([]search, len(keys))
	for i, key := range keys {
		f.searches[i].key = key
	}
	if info.Size <= s.smallLog {
		f.scan(0, f.searches)
		return f.err
	}
	f.now = time.Now()
	f.cache = s.cacheFor(log, p)
	defer f.cache.close()
	if f.cache.dir == nil {
		f.scan(0, f.searches)
		return f.err
	}
	f.open()
	f.plan()
	if f.keys != nil {
		defer f.keys.Close()
	}
	if err := f.readTail(); err != nil {
		return err
	}
	f.save()
	for i := range f.searches {
		if f.answer(&f.searches[i]); f.over {
			break
		}
	}
	return f.err
}

// smallLog is the size up to which a log is read from its start: looking at 32 KiB (some 100 lines) takes 0.1 ms, and finding
// the table, opening it and proving that it is of this log as long.
const smallLog = 32 << 10

// A search is what is looked for.
type search struct {
	key   string
	found []index.RowRef // in the tail
	torn  *logLine       // the last line, if it has key and no line feed: it goes into no table
	end   int64          // where the last line that was seen ended
}

// A finder is one look into a log.
type finder struct {
	s     *Store
	ctx   context.Context
	log   store.Key
	p     *store.Projection
	file  *atomicfile.File
	info  atomicfile.Info // of the log before it was read
	now   time.Time
	limit int64 // of a line
	see   func(key string, l store.Line) bool
	over  bool  // see wants no more, or err
	err   error // what the look ended with

	searches []search

	cache  cacheFile
	keys   *index.Keys // nil: none that can be used
	seed   uint64
	from   int64          // what lies before is in keys
	parsed int64          // what lies before is in keys and places
	places []index.RowRef // of the tail
	keep   bool           // a new table is to be written
	ends   index.Ends     // of the log as it was before it was read, if keep
}

// open opens the table if the log has only grown since it was written.
func (f *finder) open() {
	keys, err := f.cache.dir.OpenKeys(f.cache.name, f.cache.of)
	if err == nil && f.grown(keys.State()) {
		f.keys, f.seed, f.from = keys, keys.Seed(), keys.State().Parsed
		f.parsed = f.from
		return
	}
	if err == nil {
		keys.Close()
	}
	f.seed = index.NewSeed()
}

func (f *finder) grown(st index.LogState) bool {
	id := statOf(f.info)
	switch {
	case id.Dev != st.ID.Dev, id.Ino != st.ID.Ino, id.Size < st.ID.Size:
		return false
	case id.Size == st.ID.Size && (id != st.ID || !st.Settled):
		return false
	}
	ends, err := index.EndsOf(logBytes{f.file}, st.Parsed)
	return err == nil && ends == st.Ends
}

// logBytes lets a log be read as an io.ReaderAt.
type logBytes struct{ f *atomicfile.File }

func (l logBytes) ReadAt(b []byte, off int64) (int, error) {
	n, err := l.f.Pread(b, off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// bytesPerKey is a guess that spares growing the list of places: lines of 300 bytes with two keys.
const bytesPerKey = 150

// readTail reads what is not in the table and notes the places of all its keys.
func (f *finder) readTail() error {
	if f.parsed >= f.info.Size {
		return nil
	}
	if f.keep {
		f.places = make([]index.RowRef, 0, (f.info.Size-f.parsed)/bytesPerKey)
	}
	sc := newScanner(f.file, f.info.Size, f.parsed, f.limit)
	for {
		l, ok, err := sc.next()
		if err == nil {
			err = f.ctx.Err()
		}
		if err != nil {
			return f.s.fail("find in", f.log, err)
		}
		if !ok {
			return nil
		}
		whole := l.through[len(l.through)-1] == '\n'
		if l.why == "" {
			f.note(l, whole)
		}
		if whole && l.next <= f.info.Size {
			f.parsed = l.next
		}
		// A reader that follows a growing log may never come to its end.
		if l.next >= f.info.Size {
			return nil
		}
	}
}

// note keeps the places of the keys of one line.
func (f *finder) note(l logLine, whole bool) {
	keys, _, _, err := f.p.Make(l.data, time.Time{})
	if err != nil {
		return
	}
	at := index.RowRef{At: l.at, Size: uint32(l.next - 1 - l.at)}
	for i := range f.searches {
		q := &f.searches[i]
		switch has := slices.Contains(keys, q.key); {
		case has && whole:
			q.found = append(q.found, at)
		case has:
			q.torn = &l
		}
	}
	if !f.keep || !whole || l.next > f.info.Size {
		return
	}
	for i, key := range keys {
		if !slices.Contains(keys[:i], key) {
			at.Hash = index.Hash(f.seed, key)
			f.places = append(f.places, at)
		}
	}
}

// A table is written anew when the tail is larger than a part of what the table covers. Reading a MiB of tail takes some 2.5
// ms, writing the table of a log of 30 MiB some 8 ms (100,000 lines with two keys each). At a 256th a search reads 0.3
// ms of tail at most, and each line that is added costs 20 µs of writing. A tail below tailLeast is read in less time than any
// file is written. While the log is unsettled the tail may become larger, because a table that is written then is built
// anew by the next search, should the log not grow any more.
const (
	tailShare = 256
	tailLeast = 16 << 10
	tailHasty = 2
)

// plan decides, before the tail is read, whether a table will be written.
func (f *finder) plan() {
	tail, limit := f.info.Size-f.from, max(tailLeast, f.from/tailShare)
	if f.keys != nil && (tail <= limit || tail <= limit*tailHasty && !f.s.settled(statOf(f.info), f.now)) {
		return
	}
	var err error
	f.ends, err = index.EndsOf(logBytes{f.file}, f.info.Size)
	f.keep = err == nil
}

// save writes the table that was planned, unless the log did something else than grow while it was read.
func (f *finder) save() {
	if !f.keep {
		return
	}
	after, err := f.file.Stat()
	if err != nil || after != f.info && after.Size <= f.info.Size {
		return
	}
	if ends, err := index.EndsOf(logBytes{f.file}, f.info.Size); err != nil || ends != f.ends {
		return
	}
	st := index.LogState{ID: statOf(f.info), Parsed: f.parsed}
	st.Settled = after == f.info && f.s.settled(st.ID, f.now)
	if st.Ends, err = index.EndsOf(logBytes{f.file}, f.parsed); err != nil {
		return
	}
	err = f.cache.dir.SaveKeys(f.cache.name, f.cache.of, st, f.seed, f.keys, f.places)
	if errors.Is(err, index.ErrBad) {
		f.cache.discard()
	}
}

// answer shows the lines that the table knows, then those of the tail.
func (f *finder) answer(q *search) {
	if f.keys != nil {
		for p, err := range f.keys.Find(index.Hash(f.seed, q.key)) {
			if err != nil {
				f.mistrust(q)
				return
			}
			if p.At < q.end {
				continue // two keys of a line that have one hash
			}
			if !f.line(q, p) {
				return
			}
		}
	}
	for _, p := range q.found {
		if !f.line(q, p) {
			return
		}
	}
	if q.torn != nil {
		f.give(q, *q.torn)
	}
}

// fail ends the look.
func (f *finder) fail(err error) { f.over, f.err = true, err }

// mistrust throws the table away and reads the log from the last line that was right.
func (f *finder) mistrust(q *search) {
	f.cache.discard()
	f.scan(q.end, []search{*q})
}

// line reads the line at a place and shows it if it has the key. False: the search is over.
func (f *finder) line(q *search, p index.RowRef) bool {
	if err := f.ctx.Err(); err != nil {
		f.fail(err)
		return false
	}
	next := p.At + int64(p.Size) + 1
	l, ok, err := newScanner(f.file, next, p.At, f.limit).next()
	if err != nil {
		f.fail(f.s.fail("find in", f.log, err))
		return false
	}
	begins := len(l.before) == 0 || l.before[len(l.before)-1] == '\n'
	if !ok || l.at != p.At || l.next != next || !begins || l.why != "" {
		f.mistrust(q)
		return false
	}
	keys, _, _, err := f.p.Make(l.data, time.Time{})
	return err != nil || !slices.Contains(keys, q.key) || f.give(q, l)
}

func (f *finder) give(q *search, l logLine) bool {
	q.end = l.next
	line := store.Line{Data: l.data, Next: position{f.info.Ino, l.next, hashTail(l.through)}.pos()}
	if l.at > 0 { // the start is ""
		line.At = position{f.info.Ino, l.at, hashTail(l.before)}.pos()
	}
	f.over = !f.see(q.key, line)
	return !f.over
}

// scan reads the log from an offset and shows what has the keys: the way without a table.
func (f *finder) scan(from int64, all []search) {
	sc := newScanner(f.file, f.info.Size, from, f.limit)
	for {
		l, ok, err := sc.next()
		if err == nil {
			err = f.ctx.Err()
		}
		if err != nil {
			f.fail(f.s.fail("find in", f.log, err))
			return
		}
		if !ok {
			return
		}
		if l.why == "" && !f.show(l, all) || l.next >= f.info.Size {
			return
		}
	}
}

// show shows a line to the searches for a key of it. False: that is enough.
func (f *finder) show(l logLine, all []search) bool {
	keys, _, _, err := f.p.Make(l.data, time.Time{})
	if err != nil {
		return true
	}
	for i := range all {
		if slices.Contains(keys, all[i].key) && !f.give(&all[i], l) {
			return false
		}
	}
	return true
}
