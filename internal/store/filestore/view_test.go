package filestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestViewReadsLittle counts the documents that a query makes rows of.
func TestViewReadsLittle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(500)
	r.settle()
	made := 0
	p := listing(&made)
	for _, c := range []struct {
		what string
		do   func()
		q    store.Query
		want int
		soon bool // a machine that takes longer than the racy grain for the lines before has nothing left to look at again
	}{
		{"first", func() {}, newest3, 500, false},
		{"again", func() {}, newest3, 0, false},
		{"exact", func() {}, exact, 0, false},
		{"one more", func() { r.put("x", viewMsg(7, "k", "new")) }, newest3, 1, false},
		{"while it is unsettled", func() {}, newest3, 1, true},
		{"once it is settled", r.settle, newest3, 1, true},
		{"from then on", func() {}, newest3, 0, false},
		{"one gone", func() { os.Remove(r.path("m00499")) }, newest3, 0, false},
		{"one overwritten, exact", func() { r.put("m00003", viewMsg(3, "k", "other")) }, exact, 1, false},
		{"all, not exact", r.settle, store.Query{}, 1, true},
		{"quiet", func() {}, exact3, 0, false},
		{"version of the projection", func() { p.Version++ }, newest3, 500, false},
		{"that version again", func() {}, newest3, 0, false},
	} {
		c.do()
		made = 0
		got := viewLines(t, r.s, p, c.q)
		if made != c.want && (!c.soon || made > c.want) {
			t.Errorf("%s: %d documents were read, want %d", c.what, made, c.want)
		}
		sameLines(t, c.what, got, r.naive(c.q))
	}
}

// TestNewestAfterChanges: the first rows were changed or removed, and the folder may not show it.
func TestNewestAfterChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		do   func(r *rig)
	}{
		{"first row sinks", func(r *rig) { r.put("m00299", viewMsg(5, "k", "low")) }},
		{"three rows sink", func(r *rig) {
			for i := 297; i < 300; i++ {
				r.put(fmt.Sprintf("m%05d", i), viewMsg(i-290, "k", "low"))
			}
		}},
		{"third row rises", func(r *rig) { r.put("m00297", viewMsg(900, "k", "high")) }},
		{"sinks a little", func(r *rig) { r.put("m00299", viewMsg(296, "k", "z")) }},
		{"rows rise and sink", func(r *rig) {
			for i, order := range []int{900, 901, 5} {
				r.put(fmt.Sprintf("m%05d", 297+i), viewMsg(order, "k", "moved"))
			}
		}},
		{"row becomes unfit", func(r *rig) { r.put("m00298", nil) }},
		{"row is gone", func(r *rig) { os.Remove(r.path("m00298")) }},
		{"row becomes a link", func(r *rig) {
			os.Remove(r.path("m00298"))
			os.Symlink("m00001.json", r.path("m00298"))
		}},
		{"row becomes a folder", func(r *rig) {
			os.Remove(r.path("m00298"))
			os.Mkdir(r.path("m00298"), 0o700)
		}},
		{"equal size, time set back", func(r *rig) { overwriteAsBefore(r.t, r.path("m00298"), viewMsg(298, "k298", "HELLO")) }},
		{"old row is replaced by rename", func(r *rig) {
			os.WriteFile(r.path(".tmp"), viewMsg(700, "k", "risen"), 0o600)
			os.Rename(r.path(".tmp"), r.path("m00004"))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.fill(300)
			r.settle()
			r.check("before", newest3)
			c.do(r)
			r.check(c.what, newest3)
			r.check(c.what+", again", newest3)
			r.check(c.what+", exact", exact)
		})
	}
}

// overwrite writes in place and sets the time of the last write back.
func overwriteAsBefore(t testing.TB, path string, data []byte) {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		t.Fatalf("%s: size %d to %d: not what the test wants", path, before.Size(), after.Size())
	}
}

// TestOverwrittenInPlace: below the first rows it is seen by Exact at once and by Newest when the last full look is a minute ago.
func TestOverwrittenInPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(50)
	r.settle()
	r.check("before", newest3)
	old := r.naive(newest3)
	overwriteAsBefore(t, r.path("m00010"), viewMsg(99, "k10", "HELLO"))
	sameLines(t, "within the minute", viewLines(t, r.s, listing(nil), newest3), old)
	r.age(fullPass)
	r.check("after a minute", newest3)
	overwriteAsBefore(t, r.path("m00011"), viewMsg(98, "k11", "HELLO"))
	r.check("exact", exact3)
	r.check("after exact", newest3)
}

// age makes the last full look of the inbox's table older.
func (r *rig) age(by time.Duration) {
	r.t.Helper()
	c := r.s.cacheFor(store.Key{Kind: store.Inbox, Owner: viewOwner}, listing(nil))
	defer c.close()
	tab, err := c.dir.OpenTable(c.name, c.of)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tab.Close()
	st := tab.State()
	st.Full -= by.Nanoseconds()
	if err := c.dir.SaveTable(c.name, c.of, st, tab, nil, nil); err != nil {
		r.t.Fatal(err)
	}
}

// TestForeignPlainWrite: a program that makes an empty file, fills it and then completes it, without a change of the folder.
func TestForeignPlainWrite(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		r := newRig(t)
		r.fill(20)
		whole := viewMsg(500, "k", "slow")
		f, err := os.Create(r.path("slow"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, part := range [][]byte{nil, whole[:9], whole[9:]} {
			if _, err := f.Write(part); err != nil {
				t.Fatal(err)
			}
			if wait {
				r.settle()
			}
			r.check(fmt.Sprintf("after %q", part), newest3)
			r.check(fmt.Sprintf("after %q, again", part), newest3)
		}
		if got := viewLines(t, r.s, listing(nil), newest3)[0]; !strings.Contains(got, "slow") {
			t.Errorf("the completed message is not first: %s", got)
		}
	}
}

// TestManyChangesWithinOneTick: the times of the sources cannot tell these apart.
func TestManyChangesWithinOneTick(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(5)
	for i := range 100 {
		r.put("m00002", viewMsg(100+i, "k", fmt.Sprint("text ", i)))
		if i%10 == 0 {
			r.put(fmt.Sprint("n", i), viewMsg(i, "k", "x"))
		}
		q := []store.Query{newest3, exact, {Newest: 1}}[i%3]
		r.check(fmt.Sprint("change ", i), q)
	}
}

// TestNestedAndReplacedKinds: folders whose times say little about their contents.
func TestNestedAndReplacedKinds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		kind store.Kind
		path func(name string) string
	}{
		{store.Negotiation, func(n string) string { return filepath.Join(r.root, "negotiations", n, "state.json") }},
		{store.Drumbeat, func(n string) string { return filepath.Join(r.root, "drumbeat", n+".json") }},
	} {
		compare := func(what string) {
			t.Helper()
			for _, q := range []store.Query{newest3, exact} {
				want := viewLinesOf(t, struct{ store.Reader }{r.plain}, c.kind, "", listing(nil), q)
				sameLines(t, c.kind.String()+" "+what, viewLinesOf(t, r.s, c.kind, "", listing(nil), q), want)
			}
		}
		write := func(name string, order int) {
			t.Helper()
			path := c.path(name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".tmp", viewMsg(order, "k", "t"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".tmp", path); err != nil {
				t.Fatal(err)
			}
		}
		compare("missing")
		for i := range 6 {
			write(fmt.Sprint("d", i), i)
		}
		os.MkdirAll(filepath.Join(filepath.Dir(filepath.Dir(c.path("x"))), "negotiations", "empty"), 0o700)
		compare("new")
		r.settle()
		compare("settled")
		write("d0", 50)
		write("d0", 51) // the inode of the first one may be back
		compare("replaced twice")
		r.settle()
		compare("settled again")
		os.Remove(c.path("d0"))
		compare("removed")
	}
}

// TestTwoWritersAtOnce: stores on one root and one cache folder, and files that come and go meanwhile.
func TestTwoWritersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(300)
	done := make(chan []string)
	for range 4 {
		s := r.open(Options{CacheDir: r.cache})
		go func() {
			var wrong []string
			for i := range 30 {
				q := []store.Query{newest3, exact3}[i%2]
				for row, err := range s.View(context.Background(), store.Inbox, viewOwner, listing(nil), q) {
					// What is always there must always be seen.
					if err != nil || row.Order < 297 {
						wrong = append(wrong, fmt.Sprint(row, err))
					}
				}
			}
			done <- wrong
		}()
	}
	for i := range 60 {
		k := inboxKey(fmt.Sprint("own", i))
		if _, err := r.plain.Create(context.Background(), k, viewMsg(1000+i, "k", "t")); err != nil {
			t.Error(err)
		}
		if i%3 == 0 {
			os.Remove(r.path(fmt.Sprint("own", i-1)))
		}
	}
	for range 4 {
		if wrong := <-done; len(wrong) > 0 {
			t.Errorf("%d wrong rows: %v", len(wrong), wrong[0])
		}
	}
	r.check("afterwards", newest3)
	r.check("afterwards", exact)
}

// TestRootMoves: a link to the root shares the index of the root, a root that was moved begins a new one.
func TestRootMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20)
	r.settle()
	r.check("at first", newest3)
	made := 0
	link := r.root + "-link"
	if err := os.Symlink(r.root, link); err != nil {
		t.Fatal(err)
	}
	linked, err := Open(link, Options{CacheDir: r.cache})
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	sameLines(t, "through a link", viewLines(t, linked, listing(&made), newest3), r.naive(newest3))
	if made != 0 {
		t.Errorf("through a link %d documents were read, want 0", made)
	}
	if err := os.Rename(r.root, r.root+"-moved"); err != nil {
		t.Fatal(err)
	}
	moved, err := Open(r.root+"-moved", Options{CacheDir: r.cache})
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	sameLines(t, "moved", viewLines(t, moved, listing(nil), newest3), r.naive(newest3))
	sameLines(t, "moved while open", viewLines(t, r.s, listing(nil), exact), r.naive(exact))
}

// TestUselessCache: without a cache folder that can be used the answers are the same.
func TestUselessCache(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(5)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(prepare func(folder string)) *Store {
		s := r.open(Options{CacheDir: filepath.Join(t.TempDir(), "c")})
		name, _ := s.cacheName()
		prepare(filepath.Join(s.cacheDir, name))
		return s
	}
	for what, s := range map[string]*Store{
		"none":          r.plain,
		"a file":        r.open(Options{CacheDir: file}),
		"below a file":  r.open(Options{CacheDir: filepath.Join(file, "x")}),
		"open to group": open(func(p string) { os.MkdirAll(p, 0o750); os.Chmod(p, 0o750) }),
		"a link":        open(func(p string) { os.MkdirAll(filepath.Dir(p), 0o700); os.Symlink(t.TempDir(), p) }),
	} {
		for range 2 {
			sameLines(t, what, viewLines(t, s, listing(nil), newest3), r.naive(newest3))
		}
		if dir, ok := s.cacheName(); ok && s.cacheDir != "" {
			if left, _ := filepath.Glob(filepath.Join(s.cacheDir, dir, "*")); len(left) > 0 {
				t.Errorf("%s: files were written: %v", what, left)
			}
		}
	}
}

func TestViewRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(2)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		kind store.Kind
		of   string
	}{
		"context": {done, store.Inbox, viewOwner}, "no owner": {context.Background(), store.Inbox, ""},
		"log": {context.Background(), store.Instances, ""}, "escape": {context.Background(), store.Inbox, ".."},
	} {
		n := 0
		for _, err := range r.s.View(c.ctx, c.kind, c.of, listing(nil), newest3) {
			if n++; err == nil {
				t.Errorf("%s: a row", what)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d answers, want one error", what, n)
		}
	}
	for _, err := range r.s.View(context.Background(), store.Inbox, "nobody", listing(nil), newest3) {
		t.Errorf("an owner without a folder: %v", err)
	}
}
