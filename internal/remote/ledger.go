package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/remote/listen"
	"tutti/internal/store"
)

// A Ledger is a Memory with a line for each group of things, which costs one sync however many they are. Its pages are logs:
// each is of what says to be made within the same few minutes, so that a thing is looked for on a few pages alone, no matter
// which process took it. They bear the minute of the hour, and are written again an hour later.
//
// If two processes take the same thing at the same moment, neither learns of the other.
type Ledger struct {
	Log interface {
		store.Log
		store.Shrinker
	}

	mu    sync.Mutex
	pages [hourPages]page
	most  int // of a page; 0: maxKnown
}

const (
	// pageLength times hourPages is the hour; a page is written again long after keepTaken.
	pageLength = 5 * time.Minute
	hourPages  = int(time.Hour / pageLength)
	// lineThings is how many things a line names: with 43 bytes for each it stays within what a line may have.
	lineThings = maxGroup
	// maxKnown is how many things a page may be of: 1,700 a second for five minutes. Each costs 10 to 20 bytes of memory, and what is fresh
	// stands on three pages; those around them that were not forgotten yet are kept, too.
	maxKnown = 1 << 19
)

// ErrCrowded is what Seen says when so much was taken in the same minutes that no more can be remembered.
var ErrCrowded = errors.New("too much was taken in these minutes")

// Crowded is the answer to that. What is made in the next minutes has room again.
func Crowded() listen.Answer {
	a := listen.Error(http.StatusServiceUnavailable, "busy")
	a.Retry = pageLength
	return a
}

// A page is what is known of a log.
type page struct {
	of    int64 // since when its things were made, in lengths of a page since 1970
	read  store.Pos
	known map[uint64]struct{} // hashes of names
	most  int
}

// seed makes the hashes of this process its own, so that no one can choose two names with the same one.
var seed = maphash.MakeSeed()

// place says on which page a thing is noted.
func place(t Thing) (of int64, err error) {
	made, ok := envelope.ParseTime(t.CreatedAt)
	if !ok || made.Unix() < int64(time.Hour/time.Second) {
		return 0, fmt.Errorf("%q is not a time for %s", t.CreatedAt, t.ID)
	}
	return made.Unix() / int64(pageLength/time.Second), nil
}

func pageKey(of int64) store.Key {
	minute := of % int64(hourPages) * int64(pageLength/time.Minute)
	return store.Key{Kind: store.RemoteReplay, Name: fmt.Sprintf("%02d", minute)}
}

// since is how a line says of which page it is.
func since(of int64) string {
	return envelope.Stamp(time.Unix(of*int64(pageLength/time.Second), 0))
}

// Known looks at the read part of the pages of a thing, unless they are just being read.
func (l *Ledger) Known(t Thing) bool {
	of, err := place(t)
	if err != nil || !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	for _, of := range around(of) {
		if p := l.page(of); p.of == of && p.has(t) {
			return true
		}
	}
	return false
}

// Seen looks at the pages of things, of each of which it reads once what was added since the last look.
func (l *Ledger) Seen(ctx context.Context, all ...Thing) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := make([]error, len(all))
	read := map[int64]error{}
	for i, t := range all {
		errs[i] = l.seen(ctx, t, read)
	}
	return errs
}

// seen looks at the pages of a thing; read are the pages that were read a moment ago.
func (l *Ledger) seen(ctx context.Context, t Thing, read map[int64]error) error {
	of, err := place(t)
	if err != nil {
		return err
	}
	var errs []error
	for _, of := range around(of) {
		err, done := read[of]
		if !done || l.page(of).of != of {
			err = l.readOn(ctx, of)
			read[of] = err
		}
		if l.page(of).has(t) {
			return ErrTaken
		}
		errs = append(errs, err)
	}
	if p := l.page(of); len(p.known) >= p.most {
		errs = append(errs, ErrCrowded)
	}
	return errors.Join(errs...)
}

func (l *Ledger) page(of int64) *page { return &l.pages[of%int64(hourPages)] }

// reach is how many pages apart two things can be that are both fresh.
const reach = int64((MaxAge+MaxSkew)/pageLength) + 1

// around are the pages on which a thing is looked for: an agent that makes it anew under its own name, as long as it is fresh,
// has not made another one.
func around(of int64) (pages [2*reach + 1]int64) {
	for n := range pages {
		pages[n] = of - reach + int64(n)
	}
	return pages
}

func (p *page) has(t Thing) bool {
	_, has := p.known[maphash.String(seed, t.Name)]
	return has
}

// readOn reads what was added to a page. A line that was torn by the end of a process was never answered for.
func (l *Ledger) readOn(ctx context.Context, of int64) error {
	p := l.page(of)
	if p.of != of {
		l.forget(of)
		*p = page{of: of, known: map[uint64]struct{}{}, most: cmp.Or(l.most, maxKnown)}
	}
	for try := 0; ; try++ {
		err := l.readFrom(ctx, pageKey(of), p)
		if try > 0 || !errors.Is(err, store.ErrConflict) {
			return err
		}
		p.read = "" // it was shortened: from its beginning
	}
}

// forget lets go of pages that are asked for no more when a new one begins: two things that are fresh at the same time are at most reach
// apart, and each is looked for on reach pages to either side. They can be read again.
func (l *Ledger) forget(of int64) {
	for n := range l.pages {
		if p := &l.pages[n]; p.of < of-3*reach || p.of > of+3*reach {
			*p = page{}
		}
	}
}

func (l *Ledger) readFrom(ctx context.Context, k store.Key, p *page) error {
	for line, err := range l.Log.Read(ctx, k, p.read) {
		if err != nil && (line.Next == "" || !errors.As(err, new(*store.UnfitError))) {
			return err
		}
		if err == nil {
			p.learn(line.Data)
		}
		p.read = line.Next
	}
	return nil
}

// learn takes in what a line says, if it is of this page.
func (p *page) learn(line []byte) {
	var v [2][]byte
	canonjson.Pick(line, []string{"since", "taken"}, v[:])
	if !canonjson.Is(v[0], since(p.of)) {
		return
	}
	for name := range canonjson.Elements(v[1]) {
		if text, ok := canonjson.String(name); ok && len(p.known) < p.most {
			p.known[maphash.String(seed, text)] = struct{}{}
		}
	}
}

// Keep adds lines to the pages of the things. Where one page fails, those before it stand.
func (l *Ledger) Keep(ctx context.Context, all ...Thing) error {
	byPage := map[int64][]string{}
	for _, t := range all {
		of, err := place(t)
		if err != nil {
			return err
		}
		byPage[of] = append(byPage[of], t.Name)
	}
	for of, names := range byPage {
		var lines [][]byte
		for some := range slices.Chunk(names, lineThings) {
			var o canonjson.Object
			o.Str("since", since(of))
			o.Strs("taken", some)
			lines = append(lines, o.Bytes())
		}
		if _, _, err := store.ExtendWith(ctx, l.Log, pageKey(of), store.AnyEnd, lines); err != nil {
			return fmt.Errorf("note what was taken: %w", err)
		}
	}
	return nil
}

// Sweep takes old lines out of all pages.
func (l *Ledger) Sweep(ctx context.Context, _ int, now time.Time) (gone int, err error) {
	var errs []error
	for n := range int64(hourPages) {
		if l.fresh(ctx, pageKey(n), now) {
			continue
		}
		some, err := l.Log.Shrink(ctx, pageKey(n), func(line []byte) bool { return !past(line, now) })
		gone, errs = gone+some, append(errs, err)
	}
	return gone, errors.Join(errs...)
}

// fresh tells whether there is nothing to take out of a page: its first line is its oldest, unless a clock was ahead when it was written, and
// to shorten a page is to read all of it.
func (l *Ledger) fresh(ctx context.Context, k store.Key, now time.Time) bool {
	for line, err := range l.Log.Read(ctx, k, "") {
		if err == nil {
			return !past(line.Data, now) && past(line.Data, now.Add(time.Hour))
		}
		if line.Next == "" {
			return false // to shorten it will say why not
		}
	}
	return true
}

// past tells whether all of what a line names is long stale. One that does not say when it is of is none of ours.
func past(line []byte, now time.Time) bool {
	v, _ := canonjson.Get(line, "since")
	text, _ := canonjson.String(v)
	from, ok := envelope.ParseTime(text)
	return !ok || now.Sub(from.Add(pageLength)) > keepTaken
}
