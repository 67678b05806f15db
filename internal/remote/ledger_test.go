package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// A shelf is a store with what tests ask of ledgers on it.
type shelf struct {
	*testing.T
	s *filestore.Store
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "bus"), filestore.Options{Create: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return shelf{t, s}
}

// of makes things, all made at one time.
func of(at time.Time, names ...string) (all []Thing) {
	for _, name := range names {
		all = append(all, Thing{Name: name, ID: name, CreatedAt: envelope.Stamp(at)})
	}
	return all
}

func (x shelf) keep(l *Ledger, all ...Thing) {
	x.Helper()
	if err := l.Keep(x.Context(), all...); err != nil {
		x.Fatal("Keep:", err)
	}
}

func (x shelf) wants(what string, l *Ledger, want string, all ...Thing) {
	x.Helper()
	if got := fmt.Sprint(seen(x.T, l, all...)); got != want {
		x.Errorf("%s: %s, want %s", what, got, want)
	}
}

// seen tells which things were taken. That one is not known is a fault.
func seen(t *testing.T, l *Ledger, all ...Thing) (taken []bool) {
	t.Helper()
	for _, err := range l.Seen(t.Context(), all...) {
		if err != nil && !errors.Is(err, ErrTaken) {
			t.Error("Seen:", err)
		}
		taken = append(taken, err != nil)
	}
	return taken
}

func (x shelf) sweep(l *Ledger, now time.Time, want int) {
	x.Helper()
	if gone, err := l.Sweep(x.Context(), 1, now); err != nil || gone != want {
		x.Errorf("swept at %s: %d lines, %v, want %d", now.UTC().Format("15:04:05"), gone, err, want)
	}
}

// noon is where a page begins.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// TestLedger: an accepted id is known to the ledger that recorded it, to an open one of another process, and to one opened later; each by
// its name and on its page.
func TestLedger(t *testing.T) {
	x := newShelf(t)
	one, other := &Ledger{Log: x.s}, &Ledger{Log: x.s}
	late, early := of(noon.Add(pageLength-time.Second), "a", "b"), of(noon.Add(pageLength), "c", "d")
	all := append(append([]Thing{}, late...), early...)
	x.wants("nothing", one, "[false false false false]", all...)
	x.wants("nothing", other, "[false false false false]", all...)
	x.keep(one, late[0], early[1]) // on two pages
	for what, l := range map[string]*Ledger{"the one": one, "the other": other, "a new one": {Log: x.s}} {
		x.wants(what, l, "[true false false true]", all...)
		if !l.Known(late[0]) || !l.Known(early[1]) || l.Known(late[1]) || l.Known(early[0]) {
			t.Errorf("%s does not know what it has seen", what)
		}
	}
	x.keep(other, late[1])
	if one.Known(late[1]) {
		t.Error("known without a look")
	}
	x.wants("noted by the other", one, "[true true false true]", all...)
	again, far := of(noon.Add(pageLength-time.Second+MaxAge+MaxSkew), "a")[0], of(noon.Add(3*pageLength), "a")[0]
	x.wants("signed again", one, "[true false]", again, far)
	names, err := os.ReadDir(filepath.Join(x.s.Path(), "remote-replay"))
	var logs []string
	for _, e := range names {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			logs = append(logs, e.Name())
		}
	}
	if got := fmt.Sprint(logs); err != nil || got != "[00.jsonl 05.jsonl]" {
		t.Errorf("pages %s, %v", got, err)
	}
	for _, bad := range []string{"", "yesterday", "1969-12-31T23:59:59.000Z"} {
		b := Thing{Name: "x", ID: "x", CreatedAt: bad}
		err := one.Seen(t.Context(), b)[0]
		if kept := one.Keep(t.Context(), b); err == nil || kept == nil || one.Known(b) {
			t.Errorf("made %q: Seen %v, Keep %v", bad, err, kept)
		}
	}
}

// TestLedgerMany: as many things as are brought at once are noted, in lines that the store takes.
func TestLedgerMany(t *testing.T) {
	x := newShelf(t)
	l := &Ledger{Log: x.s}
	var all []Thing
	for i := range 5 * lineThings / 2 {
		all = append(all, of(noon, Name(alice, fmt.Sprint(i)))...)
	}
	x.keep(l, all...)
	x.wants("all", l, fmt.Sprint(strings.Fields(strings.Repeat("true ", len(all)))), all...)
	var several sync.WaitGroup
	for n := range 4 {
		several.Go(func() {
			for i := range 25 {
				one := of(noon.Add(time.Minute), fmt.Sprint("n", n, "-", i))[0]
				if err := l.Keep(t.Context(), one); err != nil {
					t.Error(err)
				}
				if err := l.Seen(t.Context(), one)[0]; !errors.Is(err, ErrTaken) {
					t.Errorf("noted a moment ago: %v", err)
				}
			}
		})
	}
	several.Wait()
}

// TestLedgerSwept: lines stay as long as what they name could be brought again, also by a clock that is set back, and are gone before
// their page is written again; who had read them reads on.
func TestLedgerSwept(t *testing.T) {
	x := newShelf(t)
	l := &Ledger{Log: x.s}
	a, b := of(noon, "a")[0], of(noon.Add(pageLength), "b")[0]
	x.sweep(l, noon, 0)
	x.keep(l, a)
	x.keep(l, b)
	x.wants("both", l, "[true true]", a, b)
	for _, now := range []time.Time{noon.Add(-time.Hour), noon, noon.Add(MaxAge + MaxSkew), noon.Add(pageLength + keepTaken)} {
		x.sweep(l, now, 0)
	}
	x.sweep(l, noon.Add(pageLength+keepTaken+time.Second), 1)
	x.wants("the first is forgotten", &Ledger{Log: x.s}, "[false true]", a, b)
	x.wants("read before, too late to matter", l, "[true true]", a, b)
	next := of(noon.Add(time.Hour), "a", "c")
	x.wants("an hour later", l, "[false false]", next...)
	x.keep(l, next[1])
	x.wants("an hour later", l, "[false true]", next...)
	x.wants("for a later reader", &Ledger{Log: x.s}, "[false true false]", append(next, a)...)
	if keepTaken+2*pageLength > time.Hour {
		t.Error("a page is written again before it was forgotten")
	}
}

// TestLedgerReused: a line from an hour ago that was not swept does not count in this hour, and a shortened page is read again.
func TestLedgerReused(t *testing.T) {
	x := newShelf(t)
	l := &Ledger{Log: x.s}
	old, now := of(noon, "a")[0], of(noon.Add(time.Hour), "a", "b")
	x.keep(l, old)
	x.wants("old", l, "[true]", old)
	x.wants("same name, an hour later", l, "[false false]", now...)
	x.keep(l, now[1])
	x.wants("noted behind it", l, "[false true]", now...)
	x.sweep(l, noon.Add(time.Hour), 1)
	x.wants("the old line is gone", l, "[false true]", now...)
	x.keep(l, now[0])
	x.wants("noted after that", l, "[true true]", now...)
}

// counted counts how often pages are read from their beginning.
type counted struct {
	*filestore.Store
	whole map[string]int
}

func (c *counted) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	if from == "" {
		c.whole[k.Name]++
	}
	return c.Store.Read(ctx, k, from)
}

// TestLedgerKeeps: a signer whose messages have all ages that count as fresh, in turns, makes the ledger read no page twice.
func TestLedgerKeeps(t *testing.T) {
	x := newShelf(t)
	now := noon.Add(90 * time.Second)
	for n := int64(-3); n <= 2; n++ { // on each of them there is something
		x.keep(&Ledger{Log: x.s}, of(noon.Add(time.Duration(n)*pageLength), "taken")...)
	}
	ages := []time.Duration{MaxAge, -MaxSkew, 2 * time.Minute, 0}
	var all []Thing
	for i := range 40 {
		all = append(all, of(now.Add(-ages[i%len(ages)]), fmt.Sprint(i))...)
	}
	c := &counted{Store: x.s, whole: map[string]int{}}
	l := &Ledger{Log: c}
	for range 3 {
		x.wants("all", l, fmt.Sprint(strings.Fields(strings.Repeat("false ", len(all)))), all...)
		for _, one := range all {
			x.wants("one", l, "[false]", one)
		}
	}
	for _, page := range []string{"45", "50", "55", "00", "05", "10"} {
		if n := c.whole[page]; n != 1 {
			t.Errorf("page %s was read whole %d times", page, n)
		}
	}
}

// TestLedgerDamaged: truncated and invalid lines are skipped. A page that cannot be read is an error, and then nothing counts as new.
func TestLedgerDamaged(t *testing.T) {
	x := newShelf(t)
	l := &Ledger{Log: x.s}
	all := of(noon, "a", "b", "c")
	x.keep(l, all[0])
	path := filepath.Join(x.s.Path(), "remote-replay", "00.jsonl")
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	add("{}\n[1]\n7\nno line\n" + `{"since":7,"taken":["b"]}` + "\n" + `{"since":"2026-05-04T12:00:00.000Z","taken":{"b":1}}` + "\n" + `{"since":"2026-05-04T12:00:00.000Z","taken":["b`)
	x.wants("torn", l, "[true false false]", all...)
	x.keep(l, all[2])
	x.wants("noted behind it", l, "[true false true]", all...)
	x.wants("by a later reader", &Ledger{Log: x.s}, "[true false true]", all...)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"link": func() error { return os.Symlink("/dev/null", path) }, "folder": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		for who, l := range map[string]*Ledger{"who has read it": l, "a new one": {Log: x.s}} {
			errs := l.Seen(t.Context(), append(all, of(noon.Add(6*pageLength), "a")...)...)
			if errs[1] == nil || errors.Is(errs[1], ErrTaken) || errs[3] != nil {
				t.Errorf("%s in its place, to %s: %v", what, who, errs)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedgerFull: when no more can be remembered nothing is taken, and what is remembered still is.
func TestLedgerFull(t *testing.T) {
	x := newShelf(t)
	l := &Ledger{Log: x.s, most: 3}
	x.keep(l, of(noon, "a", "b", "c", "d")...)
	if err := l.Seen(t.Context(), of(noon, "e")...)[0]; !errors.Is(err, ErrCrowded) {
		t.Errorf("Seen: %v, want ErrCrowded", err)
	}
	x.wants("remembered entries", l, "[true true true]", of(noon, "a", "b", "c")...)
	x.wants("on another page", l, "[false]", of(noon.Add(pageLength), "e")...)

	at := time.Now()
	y := open(t, func(r *Receiver) {
		r.Guard = &Guard{Memory: &Ledger{Log: r.Store.(*filestore.Store), most: 2}}
		r.Now = func() time.Time { return at }
	})
	y.wants("first", letter(t, "env-1", at), 202, "ok")
	last := 0
	for i := range 4 {
		last, _ = y.post(letter(t, fmt.Sprint("env-", 2+i), at))
	}
	if last != 503 {
		t.Errorf("crowded: got %d, want 503", last)
	}
	_, err := y.s.Get(t.Context(), store.Key{Kind: store.Inbox, Owner: bob.Mailbox(), Name: "env-5"})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused entry was stored: %v", err)
	}
}
