package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/index"
	"tutti/internal/test/boundtest"
)

var theLog = store.Key{Kind: store.Instances}

// logEntry is a line of the tests: a number that no other line has, two keys, and text of some length.
func logEntry(n int, a, b string, pad int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"a":%q,"b":%q,"pad":"%s"}`, n, a, b, strings.Repeat("p", pad))
}

// byKeys is the projection of such lines. Each time it is asked, made counts one.
func byKeys(made *int) *store.Projection {
	return &store.Projection{Name: "keys", Version: 1, Make: func(data []byte, _ time.Time) ([]string, int64, []byte, error) {
		if made != nil {
			*made++
		}
		a, ok1 := textMember(data, `"a":"`)
		b, ok2 := textMember(data, `"b":"`)
		if !ok1 || !ok2 {
			return nil, 0, nil, errors.New("has no keys")
		}
		return []string{a, b}, 0, nil, nil
	}}
}

func textMember(data []byte, head string) (string, bool) {
	_, rest, ok := bytes.Cut(data, []byte(head))
	value, _, end := bytes.Cut(rest, []byte(`"`))
	return string(value), ok && end
}

// findLines collects what a search yields.
func findLines(t testing.TB, l store.Log, p *store.Projection, key string) (lines []string) {
	t.Helper()
	for line, err := range store.FindIn(context.Background(), l, theLog, p, key) {
		if err != nil {
			t.Fatalf("find %q: %v", key, err)
		}
		lines = append(lines, fmt.Sprintf("%s-%s %s", line.At, line.Next, line.Data))
	}
	return lines
}

func (r *rig) logPath() string { return filepath.Join(r.root, "registry", "instances.jsonl") }

// writeLog adds to the log as a foreign program does, without a lock.
func (r *rig) writeLog(data ...[]byte) {
	r.t.Helper()
	f, err := os.OpenFile(r.logPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(bytes.Join(data, nil))
		f.Close()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) checkFind(what string, s *Store, keys ...string) {
	r.t.Helper()
	for _, key := range keys {
		want := findLines(r.t, struct{ store.Log }{r.plain}, byKeys(nil), key)
		sameLines(r.t, fmt.Sprintf("%s: find %q", what, key), findLines(r.t, s, byKeys(nil), key), want)
		sameLines(r.t, fmt.Sprintf("%s: find %q without a cache", what, key), findLines(r.t, r.plain, byKeys(nil), key), want)
	}
}

// manyEntries makes n lines with the keys a<i> and b<i%10>.
func manyEntries(from, n, pad int) []byte {
	var b []byte
	for i := from; i < from+n; i++ {
		b = append(append(b, logEntry(i, fmt.Sprint("a", i), fmt.Sprint("b", i%10), pad)...), '\n')
	}
	return b
}

func TestFindReadsLittle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.writeLog(manyEntries(0, 2000, 200))
	r.settle()
	made := 0
	p := byKeys(&made)
	for _, c := range []struct {
		what string
		do   func()
		key  string
		want int
	}{
		{"first", func() {}, "a7", 2000 + 1},
		{"again", func() {}, "a7", 1},
		{"a missing key", func() {}, "never", 0},
		{"many", func() {}, "b3", 200},
		{"ten more", func() { r.writeLog(manyEntries(2000, 10, 200)) }, "a2003", 10 + 1},
		{"many more", func() { r.writeLog(manyEntries(2010, 1000, 200)); r.settle() }, "a2999", 1010 + 1},
		{"from then on", func() {}, "a2999", 1},
		{"cut", func() { os.Truncate(r.logPath(), 1000); r.settle() }, "a2", 4 + 1},
		{"version of the projection", func() { p.Version++ }, "a2", 4 + 1},
	} {
		c.do()
		made = 0
		got := findLines(t, r.s, p, c.key)
		if made != c.want {
			t.Errorf("%s: %d lines were read, want %d", c.what, made, c.want)
		}
		sameLines(t, c.what, got, findLines(t, struct{ store.Log }{r.plain}, byKeys(nil), c.key))
	}
}

// TestChangedLogs: the log is not what it was when its table was written.
func TestChangedLogs(t *testing.T) {
	t.Parallel()
	whole := manyEntries(0, 300, 200)
	cut := bytes.Index(whole, []byte(`{"n":150,`))
	for _, c := range []struct {
		what string
		do   func(r *rig)
	}{
		{"cut", func(r *rig) { os.Truncate(r.logPath(), int64(cut)) }},
		{"cut within a line", func(r *rig) { os.Truncate(r.logPath(), int64(cut)+20) }},
		{"cut and grown back, shorter", func(r *rig) { os.Truncate(r.logPath(), int64(cut)); r.writeLog(manyEntries(1150, 10, 200)) }},
		{"cut and grown back, larger", func(r *rig) { os.Truncate(r.logPath(), int64(cut)); r.writeLog(manyEntries(1150, 200, 200)) }},
		{"cut and grown back, equal size", func(r *rig) {
			os.Truncate(r.logPath(), int64(cut))
			r.writeLog(bytes.ReplaceAll(whole[cut:], []byte(`"a":"a2`), []byte(`"a":"c2`)))
		}},
		{"overwritten in the middle, time set back", func(r *rig) {
			overwriteAsBefore(r.t, r.logPath(), bytes.Replace(whole, []byte(`"a":"a250"`), []byte(`"a":"c250"`), 1))
		}},
		{"overwritten at the start, then grown", func(r *rig) {
			overwriteAsBefore(r.t, r.logPath(), bytes.Replace(whole, []byte(`"a":"a2"`), []byte(`"a":"c2"`), 1))
			r.writeLog(manyEntries(300, 1, 200))
		}},
		{"replaced by a copy with other keys", func(r *rig) {
			os.WriteFile(r.logPath()+".new", bytes.ReplaceAll(whole, []byte(`"a":"a2`), []byte(`"a":"c2`)), 0o600)
			os.Rename(r.logPath()+".new", r.logPath())
		}},
		{"replaced by a larger copy with another middle", func(r *rig) {
			other := bytes.Replace(whole, []byte(`"a":"a151"`), []byte(`"a":"c250"`), 1)
			os.WriteFile(r.logPath()+".new", append(other, manyEntries(300, 2, 200)...), 0o600)
			os.Rename(r.logPath()+".new", r.logPath())
		}},
		{"removed", func(r *rig) { os.Remove(r.logPath()) }},
		{"emptied", func(r *rig) { os.Truncate(r.logPath(), 0) }},
	} {
		for _, wait := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, settled %v", c.what, wait), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.writeLog(whole)
				if wait {
					r.settle()
				}
				keys := []string{"a2", "c2", "a250", "c250", "b5", "a149", "a151", "a1151", "a1349", "a300"}
				r.checkFind("before", r.s, keys...)
				c.do(r)
				r.checkFind("after", r.s, keys...)
				r.settle()
				r.checkFind("settled", r.s, keys...)
			})
		}
	}
}

// TestSmallLogHasNoTable: a log up to the size that is read at once is searched without a table.
func TestSmallLogHasNoTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.s.smallLog = smallLog
	filler := func() int64 {
		info, err := os.Stat(r.logPath())
		if err != nil {
			t.Fatal(err)
		}
		return smallLog - info.Size()
	}
	r.writeLog(manyEntries(0, 20, 20))
	r.writeLog(append(logEntry(20, "full", "b1", int(filler())-len(logEntry(20, "full", "b1", 0))-1), '\n'))
	r.settle()
	r.checkFind("of the size", r.s, "a3", "b1", "full", "none")
	c := r.s.cacheFor(theLog, byKeys(nil))
	defer c.close()
	if k, err := c.dir.OpenKeys(c.name, c.of); err == nil || filler() != 0 {
		k.Close()
		t.Errorf("a log with %d bytes to the limit has a table", filler())
	}
	r.writeLog(manyEntries(21, 1, 20))
	r.settle()
	r.checkFind("larger", r.s, "a3", "b1", "full", "a21", "none")
	k, err := c.dir.OpenKeys(c.name, c.of)
	if err != nil {
		t.Fatalf("a larger log has no table: %v", err)
	}
	k.Close()
}

// TestUnsettledLogTableIsIgnored: a table from within the tick of a change may lack what the log has.
func TestUnsettledLogTableIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.writeLog(manyEntries(0, 300, 200))
	r.settle()
	r.checkFind("before", r.s, "a5")
	c := r.s.cacheFor(theLog, byKeys(nil))
	defer c.close()
	k, err := c.dir.OpenKeys(c.name, c.of)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	st := k.State()
	st.Settled = false
	if err := c.dir.SaveKeys(c.name, c.of, st, k.Seed(), nil, nil); err != nil {
		t.Fatal(err)
	}
	r.checkFind("after", r.s, "a5", "b5")
}

// TestTwoKeysWithOneHash: their line has two places in the table and is one answer, and a line with another key is none.
func TestTwoKeysWithOneHash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.writeLog(manyEntries(0, 3, 20))
	r.settle()
	r.checkFind("before", r.s, "a1")
	c := r.s.cacheFor(theLog, byKeys(nil))
	defer c.close()
	k, err := c.dir.OpenKeys(c.name, c.of)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var add []index.RowRef
	for i := range 3 {
		for p := range k.Find(index.Hash(k.Seed(), fmt.Sprint("a", i))) {
			p.Hash = index.Hash(k.Seed(), "a1")
			add = append(add, p, p)
		}
	}
	if err := c.dir.SaveKeys(c.name, c.of, k.State(), k.Seed(), nil, add); err != nil || len(add) != 6 {
		t.Fatal(len(add), err)
	}
	r.checkFind("after", r.s, "a1")
}

func TestFindOddLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keys := []string{"x", "y", "z", "same", "last"}
	for _, part := range []string{
		`{"a":"x","b":"y"}` + "\n\n\n  \t\n" + ` {"a":"x","b":"z"} ` + "\r\n",
		`{"a":"x","b":` + "\n" + `{"c":1}` + "\n",
		`{"a":"same","b":"same"}` + "\n",
		`{"a":"x","b":"y","long":"` + strings.Repeat("l", 70<<10) + `"}` + "\n",
		`{"a":"x","b":"last"`, `}`, "\n", "\n\n",
		`{"a":"x","b":"last"}`,
	} {
		r.writeLog([]byte(part))
		r.checkFind(fmt.Sprintf("after %.30q", part), r.s, keys...)
		r.checkFind(fmt.Sprintf("again after %.30q", part), r.s, keys...)
	}
}

// TestFindWhileItGrows: lines that were there before a search are found by it, whatever is appended meanwhile.
func TestFindWhileItGrows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.writeLog(manyEntries(0, 2000, 100))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 2000 { // not for ever: the race detector makes readers slower than this writer
			r.writeLog(manyEntries(2000+n, 1, 100))
		}
	}()
	other := r.open(Options{CacheDir: r.cache})
	for i := range 60 {
		for _, s := range []*Store{r.s, other} {
			if got := findLines(t, s, byKeys(nil), fmt.Sprint("a", i*30)); len(got) != 1 {
				t.Errorf("a%d: %v, want one line", i*30, got)
			}
		}
	}
	<-done
	r.checkFind("afterwards", r.s, "a1999", "a2000", "b7")
}

func TestFindStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.writeLog(manyEntries(0, 100, 10), []byte(`{"a":"a1","b":"b1"}`))
	for _, s := range []*Store{r.s, r.s, r.plain} {
		n := 0
		for range s.Find(context.Background(), theLog, byKeys(nil), "b1") {
			if n++; n == 3 {
				break
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var last error
		for _, err := range s.Find(ctx, theLog, byKeys(nil), "b1") {
			last = err
			cancel()
		}
		if n != 3 || !errors.Is(last, context.Canceled) {
			t.Errorf("%d lines, then %v, want context.Canceled", n, last)
		}
		cancel()
	}
	for line, err := range r.s.Find(context.Background(), inboxKey("x"), byKeys(nil), "b1") {
		if err == nil {
			t.Errorf("a document was searched like a log: %v", line)
		}
	}
}

// TestRandomFind does what programs do to a log, and to the cache, and compares each answer with the source.
func TestRandomFind(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if boundtest.Race {
		seeds = 1 // one goroutine's work, which the detector makes slow
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := &world{rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 2))}
			other := w.open(Options{CacheDir: w.cache})
			for i := range 200 {
				what := w.logStep(i)
				s := []*Store{w.s, other}[w.rng.IntN(2)]
				w.checkFind(fmt.Sprintf("step %d: %s", i, what), s, fmt.Sprint("k", w.rng.IntN(20)), fmt.Sprint("n", w.rng.IntN(i+1)))
			}
		})
	}
}

func (w *world) logStep(i int) string {
	k := func() string { return fmt.Sprint("k", w.rng.IntN(20)) }
	line := logEntry(i, k(), fmt.Sprint("n", i), w.rng.IntN(300))
	size := func() int64 {
		info, err := os.Stat(w.logPath())
		if err != nil {
			return 0
		}
		return info.Size()
	}
	switch n := w.rng.IntN(16); {
	case n < 5:
		w.s.Append(context.Background(), theLog, store.AnyEnd, line)
		return "own append"
	case n < 7:
		w.writeLog(line, []byte("\n"))
		return "foreign append"
	case n == 7:
		w.writeLog(line[:w.rng.IntN(len(line))])
		return "torn line"
	case n == 8:
		w.writeLog(slices.Repeat([]byte("\n"), w.rng.IntN(4)))
		return "line feeds"
	case n == 9:
		for j := range 200 {
			w.writeLog(logEntry(i*1000+j, k(), k(), 100), []byte("\n"))
		}
		return "many lines"
	case n == 10:
		os.Truncate(w.logPath(), size()/int64(1+w.rng.IntN(3)))
		return "cut"
	case n == 11:
		os.Truncate(w.logPath(), max(0, size()-150))
		w.writeLog([]byte("\n"), line, []byte("\n"))
		return "cut and grown"
	case n == 12:
		w.settle()
		return "settle"
	case n == 13:
		w.damage()
		return "cache damaged"
	case n == 14:
		os.RemoveAll(w.cache)
		return "cache deleted"
	}
	if size() > 8<<10 || size() == 0 {
		return "nothing" // an overwrite between the ends of a log that grows is not promised to be seen
	}
	data, _ := os.ReadFile(w.logPath())
	at := bytes.Index(data[w.rng.IntN(len(data)):], []byte(`"a":"k`))
	if at >= 0 {
		overwriteAsBefore(w.t, w.logPath(), bytes.Replace(data, []byte(`"a":"k1`), []byte(`"a":"k2`), 1))
	}
	return "overwrite in place"
}
