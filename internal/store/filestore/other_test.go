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

	"tutti/internal/platform/fswatch"
	"tutti/internal/store"
)

// TestBatchWhole: stored documents of a batch are complete, and of the others nothing is left, not even temporary files.
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

// TestLeaseDocument: the document contains the end, by the injected clock, and an unreadable document blocks no caller.
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

// TestWatchQuiet: temporary files, lock files and names that are not keys cause no event; a change is reported with its key.
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

// TestBatchGoesOn: if another process has taken the name of one document of a batch, the others are stored.
func TestBatchGoesOn(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	keys := []store.Key{mailKey(0), mailKey(1), {Kind: store.Inbox, Owner: "me", Name: "m"}, {Kind: store.Policy, Name: "p"}}
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for _, k := range keys {
			if _, err := w.Create(t.Context(), k, []byte("{}")); err != nil {
				return err
			}
		}
		write(t, s.where(keys[0]), []byte("foreign"))
		return nil
	})
	if e, ok := errors.AsType[*store.ExistsError](err); !ok || e.Key != keys[0] {
		t.Errorf("Batch: %v, want that %v is there", err, keys[0])
	}
	for _, k := range keys[1:] {
		if got := get(t, s, k); got != "{}" {
			t.Errorf("%v holds %q", k, got)
		}
	}
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
