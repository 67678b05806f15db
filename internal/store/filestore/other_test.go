package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/fswatch"
	"tutti/internal/store"
)

// TestBatchWhole: what a batch stored is whole, and what it did not store is gone, temporary files too.
func TestBatchWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mine := errors.New("mine")
	key := func(i int) store.Key {
		return store.Key{Kind: store.Inbox, Owner: fmt.Sprint("o", i%3), Name: fmt.Sprint("m", i)}
	}
	fill := func(w store.Writer) error {
		for i := range 40 {
			if _, err := w.Create(t.Context(), key(i), []byte("{}")); err != nil {
				return err
			}
		}
		return nil
	}
	err := s.Batch(t.Context(), func(w store.Writer) error { return errors.Join(fill(w), mine) })
	if !errors.Is(err, mine) {
		t.Errorf("Batch whose function failed: %v", err)
	}
	var late store.Writer
	inside := 0
	err = s.Batch(t.Context(), func(w store.Writer) error {
		late = w
		for o := range 3 {
			for range s.List(t.Context(), store.Inbox, fmt.Sprint("o", o)) {
				inside++
			}
		}
		if err := fill(w); err != nil {
			return err
		}
		if _, err := w.Create(t.Context(), key(7), []byte("{}")); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same key twice in a batch: %v", err)
		}
		// A foreign program takes one of the names before the batch ends.
		write(t, s.where(key(9)), []byte("foreign"))
		return nil
	})
	if e, ok := errors.AsType[*store.ExistsError](err); !ok || e.Key != key(9) || e.Rev != revOf([]byte("foreign")) {
		t.Errorf("Batch over a name that was taken meanwhile: %v", err)
	}
	if inside != 0 || len(temps(t, s)) > 0 {
		t.Errorf("%d documents of the failed batch; left behind %q", inside, temps(t, s))
	}
	for i := range 40 {
		want := "{}"
		if i == 9 {
			want = "foreign"
		}
		if got := get(t, s, key(i)); got != want {
			t.Errorf("%v holds %q, want %q", key(i), got, want)
		}
	}
	if _, err := late.Create(t.Context(), key(99), []byte("{}")); err == nil {
		t.Error("Create in a batch that is over: no error")
	}
}

// TestBatchSyncsEach: without a local file system each file is synced by itself, and the answer is the same.
func TestBatchSyncsEach(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.isLocal = func() bool { return false }
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for i := range syncAllFrom + 1 {
			if _, err := w.Create(t.Context(), store.Key{Kind: store.Policy, Name: fmt.Sprint(i)}, []byte("{}")); err != nil {
				return err
			}
		}
		return nil
	})
	if got := entries(t, s, "policies"); err != nil || len(got) != syncAllFrom+1 {
		t.Errorf("Batch: %v, %d documents", err, len(got))
	}
}

// TestLeaseDocument: the end lies in the document, by the injected clock, and what cannot be read holds nobody up.
func TestLeaseDocument(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 10, 4, 0, 123456789, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "bus"), Options{Create: true, Now: func() time.Time { return now }})
	first, err := s.Acquire(t.Context(), "watch", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, s, "locks/watch.json"); !strings.HasPrefix(got, `{"holder":"a","until":"2026-03-01T10:05:00.123Z","nonce":"`) {
		t.Errorf("the document is %q", got)
	}
	now = first.Until.Add(-time.Millisecond)
	if _, err := s.Acquire(t.Context(), "watch", "b", time.Minute); !isType[*store.HeldError](err) {
		t.Errorf("Acquire a millisecond before the end: %v", err)
	}
	now = first.Until
	second, err := s.Acquire(t.Context(), "watch", "a", time.Minute)
	if err != nil || second.Rev == first.Rev {
		t.Errorf("Acquire at the end: %+v, %v; want another revision than %s", second, err, first.Rev)
	}
	if _, err := s.Renew(t.Context(), first, time.Minute); !errors.Is(err, store.ErrLost) {
		t.Errorf("Renew of the lease before: %v", err)
	}
	for _, garbage := range []string{"", "{", "[]", `{"holder":"a"}`, `{"holder":1,"until":"2030-01-01T00:00:00Z"}`, `{"holder":"a","until":"soon"}`} {
		write(t, s.where(leaseKey("watch")), []byte(garbage))
		if _, err := s.Acquire(t.Context(), "watch", "b", time.Minute); err != nil {
			t.Errorf("Acquire over %q: %v", garbage, err)
		}
	}
}

// TestWatchQuiet: temporary files, lock files and names that no key has wake nobody; a change comes as its key.
func TestWatchQuiet(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "before"}, "{}")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, err := s.Watch(ctx, []store.Scope{{Kind: store.Inbox, Owner: "o"}, {Kind: store.Negotiation}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".tutti-1-2-3.tmp", ".lock", ".flock", "x.json.tmp-1-2", "esc\x1b[31m.json", "....json"} {
		write(t, filepath.Join(s.path, "inbox/o", name), []byte("x"))
	}
	k := store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}
	create(t, s, k, "{}")
	next := func() store.Change {
		t.Helper()
		select {
		case c := <-changes:
			return c
		case <-time.After(10 * time.Second):
			t.Fatal("no change in ten seconds")
			return store.Change{}
		}
	}
	if c := next(); c.Key != k || c.Rescan {
		t.Errorf("the first change is %+v, want %v", c, k)
	}
	// A negotiation brings its own folder.
	n := store.Key{Kind: store.Negotiation, Name: "n"}
	rev := create(t, s, n, "{}")
	for c := next(); c.Key != n; c = next() {
		if c.Key != k {
			t.Errorf("change %+v, want %v", c, n)
		}
	}
	if _, err := s.Replace(t.Context(), n, []byte("{1}"), rev); err != nil {
		t.Fatal(err)
	}
	for c := next(); c.Key != n || c.Rescan; c = next() {
	}
}

// TestWatchPolled: without a kernel watcher changes come all the same, and it is said.
func TestWatchPolled(t *testing.T) {
	t.Parallel()
	w, err := fswatch.Start()
	if err != nil {
		t.Skipf("SKIPPED: no kernel watcher to take away: %v", err)
	}
	w.Close()
	s := newStore(t)
	s.watcher = w
	changes, err := s.Watch(t.Context(), []store.Scope{{Kind: store.Inbox}})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Polled() {
		t.Error("Polled: false with a watcher that is closed")
	}
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}, "{}")
	select {
	case <-changes:
	case <-time.After(10 * time.Second):
		t.Error("no change in ten seconds")
	}
}

// TestMigratePaths: raw names become segments, two that meet are a conflict, nothing is replaced.
func TestMigratePaths(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, path := range []string{
		"inbox/a:b/m.json", "inbox/a__b/other.json", "inbox/plain/m.json", "outbox/c:d/m.json", "outbox/c|d/m.json",
		"policies/p:1.json", "presence/s:1.json", "presence/s:2.json.tmp-1-2", "presence/ok.json", "inbox/f:ile",
	} {
		write(t, filepath.Join(s.path, path), []byte(path))
	}
	before := tree(t, s.path)
	at := func(p string) string { return filepath.Join(s.path, p) }
	renamed := func(status string) []Rename {
		return []Rename{
			{at("outbox/c:d"), at("outbox/c__d"), status},
			{at("policies/p:1.json"), at("policies/p__1.json"), status},
			{at("presence/s:1.json"), at("presence/s__1.json"), status},
			{at("presence/s:2.json.tmp-1-2"), at("presence/s__2.json.tmp-1-2"), status},
		}
	}
	conflicts := []Rename{{at("inbox/a:b"), at("inbox/a__b"), StatusConflict}, {at("outbox/c|d"), at("outbox/c__d"), StatusConflict}}
	dry, err := s.MigratePaths(t.Context(), true)
	if err != nil || !slices.Equal(dry.Renamed, renamed(StatusWouldRename)) || !slices.Equal(dry.Conflicts, conflicts) {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	wantTree(t, "a dry run", s.path, before)
	done, err := s.MigratePaths(t.Context(), false)
	if err != nil || !slices.Equal(done.Renamed, renamed(StatusRenamed)) || !slices.Equal(done.Conflicts, conflicts) {
		t.Errorf("migration: %+v, %v", done, err)
	}
	for path, want := range map[string]string{
		"inbox/a__b/other.json": "inbox/a__b/other.json", "inbox/a:b/m.json": "inbox/a:b/m.json",
		"outbox/c__d/m.json": "outbox/c:d/m.json", "presence/s__1.json": "presence/s:1.json",
	} {
		if got := content(t, s, path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	again, err := s.MigratePaths(t.Context(), false)
	if err != nil || len(again.Renamed) > 0 || !slices.Equal(again.Conflicts, conflicts) {
		t.Errorf("a second migration: %+v, %v", again, err)
	}
	r := open(t, s.path, Options{ReadOnly: true})
	if _, err := r.MigratePaths(t.Context(), false); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("migration of a store for reading: %v", err)
	}
}

// TestClosed: a store that was closed refuses, and does not reach into what the system gave its handle to.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	k := store.Key{Kind: store.Policy, Name: "p"}
	create(t, s, k, "{}")
	s.Close()
	_, get := s.Get(t.Context(), k)
	_, make := s.Create(t.Context(), k, []byte("{}"))
	if !errors.Is(get, os.ErrClosed) || !errors.Is(make, os.ErrClosed) {
		t.Errorf("after Close: Get %v, Create %v, want ErrClosed", get, make)
	}
}

// TestBatchTwins: documents of a batch that say the same share a file where nobody else writes such files, and each has its name for
// itself.
func TestBatchTwins(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key := func(kind store.Kind, i int) store.Key {
		k := store.Key{Kind: kind, Name: fmt.Sprint("m", i)}
		if kind == store.Inbox {
			k.Owner = "o"
		}
		return k
	}
	err := s.Batch(t.Context(), func(w store.Writer) (err error) {
		for i := range 20 {
			_, e := w.Create(t.Context(), key(store.RemoteReplay, i), []byte(`{"createdAt":"x"}`))
			_, f := w.Create(t.Context(), key(store.Inbox, i), []byte("{}"))
			err = errors.Join(err, e, f)
		}
		return err
	})
	if left := temps(t, s); err != nil || len(left) > 0 {
		t.Fatalf("Batch: %v; left %q", err, left)
	}
	info := func(k store.Key) os.FileInfo {
		i, err := os.Stat(s.where(k))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	if !os.SameFile(info(key(store.RemoteReplay, 0)), info(key(store.RemoteReplay, 19))) {
		t.Error("markers that say the same are files of their own")
	}
	if os.SameFile(info(key(store.Inbox, 0)), info(key(store.Inbox, 19))) {
		t.Error("two messages share a file, and a foreign program may write to one")
	}
	d, err := s.Get(t.Context(), key(store.RemoteReplay, 0))
	if err == nil {
		err = s.Delete(t.Context(), key(store.RemoteReplay, 0), d.Rev)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), key(store.RemoteReplay, 0)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if d, err := s.Get(t.Context(), key(store.RemoteReplay, 1)); err != nil || string(d.Data) != `{"createdAt":"x"}` {
		t.Errorf("its twin: %q, %v", d.Data, err)
	}
}

// TestBatchOrder: the folders of a batch are made safe in the order in which it came to them.
func TestBatchOrder(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	keys := []store.Key{mailKey(0), {Kind: store.Inbox, Owner: "me", Name: "m"}, {Kind: store.Policy, Name: "p"}, mailKey(1), {Kind: store.RemoteReplay, Name: "r"}}
	for range 10 { // the order of a map would be another one now and then
		err := s.Batch(t.Context(), func(w store.Writer) error {
			for _, k := range keys {
				if _, err := w.Create(t.Context(), k, []byte("{}")); err != nil && !errors.Is(err, store.ErrExists) {
					return err
				}
			}
			var got []string
			for _, p := range w.(*batch).order {
				got = append(got, p.rel)
			}
			if want := "[inbox/you inbox/me policies remote-replay]"; fmt.Sprint(got) != want {
				t.Errorf("folders %s, want %s", got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatchStops: where a document of one kind is not stored none of a later kind is, and those of its own kind are.
func TestBatchStops(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	letters := []store.Key{mailKey(0), mailKey(1), {Kind: store.Inbox, Owner: "me", Name: "m"}}
	later := []store.Key{{Kind: store.RemoteReplay, Name: "r0"}, {Kind: store.RemoteReplay, Name: "r1"}, {Kind: store.Policy, Name: "p"}}
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for _, k := range append(slices.Clone(letters), later...) {
			if _, err := w.Create(t.Context(), k, []byte("{}")); err != nil {
				return err
			}
		}
		write(t, s.where(letters[0]), []byte("foreign")) // it takes the name before the batch ends
		return nil
	})
	if e, ok := errors.AsType[*store.ExistsError](err); !ok || e.Key != letters[0] {
		t.Errorf("Batch: %v, want that %v is there", err, letters[0])
	}
	for _, k := range letters[1:] {
		if got := get(t, s, k); got != "{}" {
			t.Errorf("%v holds %q", k, got)
		}
	}
	for _, k := range later {
		if _, err := s.Get(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v is there: %v", k, err)
		}
	}
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestDiscard: documents that serve no more go, the others stay, and what is gone or none is passed over.
func TestDiscard(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var names []string
	for i := range 6 {
		name := fmt.Sprint("r", i)
		create(t, s, store.Key{Kind: store.RemoteReplay, Name: name}, fmt.Sprint(i))
		names = append(names, name)
	}
	if err := os.Symlink("r0.json", filepath.Join(s.Path(), "remote-replay", "link.json")); err != nil {
		t.Fatal(err)
	}
	even := func(d store.Doc) bool { return d.Data[0]%2 == 0 }
	for _, want := range []int{3, 0} {
		if gone, err := s.Discard(t.Context(), store.RemoteReplay, append(names, "missing", "link"), even); gone != want || err != nil {
			t.Errorf("Discard: %d, %v, want %d", gone, err, want)
		}
	}
	if got := fmt.Sprint(entries(t, s, "remote-replay")); got != "[link.json r1.json r3.json r5.json]" {
		t.Errorf("left: %s", got)
	}
	if gone, err := s.Discard(t.Context(), store.DriveReplay, names, even); gone != 0 || err != nil {
		t.Errorf("of a kind of which there is none: %d, %v", gone, err)
	}
	for _, kind := range []store.Kind{store.Inbox, store.Presence, store.Profile, store.Journal} {
		if _, err := s.Discard(t.Context(), kind, nil, even); err == nil {
			t.Errorf("Discard of %s: no error", kind)
		}
	}
}
