package natsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
	"tutti/internal/test/boundtest"
)

// TestTwoClients: of two connections, one succeeds at each operation, and the other gets an error.
func TestTwoClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.store(t)
	clients := []*Store{a, r.open(t, a.opt)}
	ctx := t.Context()
	for round := range 50 {
		k := store.Key{Kind: store.Inbox, Owner: "a", Name: fmt.Sprint(round)}
		end, err := a.End(ctx, instances)
		check(t, err)
		var rev store.Rev
		for _, step := range []struct {
			name string
			do   func(s *Store, who int) error
			lost error
		}{
			{"Create", func(s *Store, who int) error {
				_, err := s.Create(ctx, k, fmt.Append(nil, who))
				return err
			}, store.ErrExists},
			{"Move", func(s *Store, _ int) error { return s.Move(ctx, k, rev, archived(k)) }, store.ErrNotFound},
			{"Append", func(s *Store, who int) error {
				_, err := s.Append(ctx, instances, end, fmt.Append(nil, who))
				return err
			}, store.ErrConflict},
			{"Acquire", func(s *Store, who int) error {
				_, err := s.Acquire(ctx, k.Name, fmt.Sprint(who), time.Minute)
				if _, held := errors.AsType[*store.HeldError](err); held {
					err = store.ErrLost
				}
				return err
			}, store.ErrLost},
		} {
			if step.name == "Move" {
				d, err := a.Get(ctx, k)
				check(t, err)
				rev = d.Rev
			}
			var errs [2]error
			var both sync.WaitGroup
			for who, s := range clients {
				both.Go(func() { errs[who] = step.do(s, who) })
			}
			both.Wait()
			if won := slices.Index(errs[:], nil); won < 0 || !errors.Is(errs[1-won], step.lost) {
				t.Fatalf("%s by both, round %d: %v; want one nil and one %q", step.name, round, errs, step.lost)
			}
		}
	}
}

// TestPages: listings and logs of many pages are whole.
func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	const n = 2*pageMessages + 3
	for i := range n {
		s.plantFast(t, store.Key{Kind: store.Inbox, Owner: "a", Name: fmt.Sprint(i)}, []byte("{}"))
		s.plantFast(t, instances, fmt.Append(nil, i))
	}
	<-s.js.PublishAsyncComplete()
	seen := map[string]bool{}
	for e, err := range s.List(ctx, store.Inbox, "a") {
		check(t, err)
		seen[e.Key.Name] = true
	}
	if len(seen) != n {
		t.Errorf("List of %d: %d", n, len(seen))
	}
	var at []store.Pos
	for l, err := range s.Read(ctx, instances, "") {
		check(t, err)
		if got := string(l.Data); got != fmt.Sprint(len(at)) {
			t.Fatalf("line %d: %q", len(at), got)
		}
		at = append(at, l.At)
	}
	if len(at) != n {
		t.Errorf("Read of %d lines: %d", n, len(at))
	}
	for _, i := range []int{1, pageMessages - 1, pageMessages, pageMessages + 1, n - 1} {
		left := 0
		for l, err := range s.Read(ctx, instances, at[i]) {
			check(t, err)
			if got := string(l.Data); got != fmt.Sprint(i+left) {
				t.Fatalf("Read from line %d: %q after %d", i, got, left)
			}
			left++
		}
		if left != n-i {
			t.Errorf("Read from line %d: %d lines, want %d", i, left, n-i)
		}
	}
}

// plantFast publishes without waiting.
func (s *Store) plantFast(t testing.TB, k store.Key, data []byte) {
	t.Helper()
	if _, err := s.js.PublishAsync(homeOf(k.Kind).prefix(s.opt.Name)+k.Subject(), data); err != nil {
		t.Fatal(err)
	}
}

// TestLargePages: pages end by size too, in logs and where many keys are asked for in one question.
func TestLargePages(t *testing.T) {
	if boundtest.Race {
		t.Skip("27 MiB are too slow under the detector; the tests of pages go the same way with less")
	}
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	journal := store.Key{Kind: store.Journal, Name: "n"}
	line := []byte(`"` + strings.Repeat("x", 1<<20-2) + `"`)
	const n = 2*pageBytes>>20 + 1
	var keys []store.Key
	var last store.Pos
	for i := range n {
		_, err := s.Append(ctx, journal, store.AnyEnd, line)
		check(t, err)
		in := store.Key{Kind: store.Inbox, Owner: "a", Name: fmt.Sprint(i)}
		keys = append(keys, archived(in))
		_, err = s.Create(ctx, in, line)
		check(t, err)
		_, err = s.Create(ctx, archived(in), line) // no twin: somebody else's of the same name
		check(t, err)
	}
	lines := 0
	for l, err := range s.Read(ctx, journal, "") {
		check(t, err)
		if !bytes.Equal(l.Data, line) {
			t.Fatalf("line %d has %d bytes", lines, len(l.Data))
		}
		lines++
		last = l.At
	}
	if lines != n {
		t.Errorf("Read: %d lines, want %d", lines, n)
	}
	for l, err := range s.Read(ctx, journal, last) {
		check(t, err)
		if len(l.Data) != len(line) {
			t.Errorf("the last line has %d bytes", len(l.Data))
		}
	}
	found := 0
	check(t, s.lasts(ctx, homeOf(store.Archive), keys, func(message) { found++ }))
	if found != n {
		t.Errorf("the last messages of %d keys: %d", n, found)
	}
	listed := 0
	for _, err := range s.List(ctx, store.Inbox, "a") {
		check(t, err)
		listed++
	}
	if listed != n {
		t.Errorf("List: %d, want %d", listed, n)
	}
}

// TestListWhileRewritten: a document that is rewritten while it is listed is listed, once.
func TestListWhileRewritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	const n = 20
	var revs [n]store.Rev
	key := func(i int) store.Key { return store.Key{Kind: store.Presence, Name: fmt.Sprint(i)} }
	for i := range n {
		var err error
		revs[i], err = s.Create(ctx, key(i), []byte("{}"))
		check(t, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 20 * n {
			var err error
			if revs[i%n], err = s.Replace(ctx, key(i%n), []byte("{}"), revs[i%n]); err != nil {
				t.Errorf("Replace: %v", err)
				return
			}
		}
	}()
	for open := true; open; {
		select {
		case <-ended:
			open = false
		default:
		}
		seen := map[store.Key]int{}
		for e, err := range s.List(ctx, store.Presence, "") {
			check(t, err)
			seen[e.Key]++
		}
		for i := range n {
			if seen[key(i)] != 1 {
				t.Fatalf("List beside a writer: %v %d times", key(i), seen[key(i)])
			}
		}
	}
}

// TestRecreatedStream: revisions and positions of a stream that was deleted are not taken for those of its successor, whose
// sequences are the same.
func TestRecreatedStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	p := store.Key{Kind: store.Negotiation, Name: "n"}
	write := func() (store.Rev, store.Pos) {
		rev, err := s.Create(ctx, p, []byte("{}"))
		check(t, err)
		end, err := s.Append(ctx, instances, "", []byte("{}"))
		check(t, err)
		return rev, end
	}
	rev, end := write()
	s.anew(t, homeOf(store.Negotiation))
	s.anew(t, homeOf(store.Instances))
	newRev, newEnd := write()
	if digits := func(s string) string { return s[:strings.IndexByte(s, '.')] }; digits(string(rev)) != digits(string(newRev)) || digits(string(end)) != digits(string(newEnd)) {
		t.Fatalf("sequences %s and %s, %s and %s: they should meet", rev, newRev, end, newEnd)
	}
	if _, err := s.Replace(ctx, p, []byte("{}"), rev); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Replace at a revision of the old stream: %v", err)
	}
	if _, err := s.Append(ctx, instances, end, []byte("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append after a position of the old stream: %v", err)
	}
	for l, err := range s.Read(ctx, instances, end) {
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("Read from a position of the old stream: %q, %v", l.Data, err)
		}
	}
}

// TestForeignNames: messages under names that no key has are passed over.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	_, err := s.Create(ctx, inbox, []byte("{}"))
	check(t, err)
	prefix := homeOf(store.Inbox).prefix(s.opt.Name)
	for _, name := range []string{"inbox.a.b.c", "inbox.a.=zz", "inbox.a", "nothing"} {
		_, err := s.js.Publish(ctx, prefix+name, []byte("{}"))
		check(t, err)
	}
	n := 0
	for e, err := range s.List(ctx, store.Inbox, "a") {
		check(t, err)
		if e.Key != inbox {
			t.Errorf("List: %v", e.Key)
		}
		n++
	}
	if n != 1 {
		t.Errorf("List: %d, want 1", n)
	}
}

// TestLive: live documents expire by age, which each write resets.
func TestLive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options()
	o.LiveTTL = time.Second
	ctx, s := t.Context(), r.open(t, o)
	p, other := store.Key{Kind: store.Presence, Name: "p"}, store.Key{Kind: store.Policy, Name: "p"}
	rev, err := s.Create(ctx, p, []byte("1"))
	check(t, err)
	_, err = s.Create(ctx, other, []byte("stays"))
	check(t, err)
	first := time.Now()
	for time.Since(first) < 1500*time.Millisecond { // longer than one life
		time.Sleep(100 * time.Millisecond)
		if rev, err = s.Replace(ctx, p, []byte("2"), rev); err != nil {
			t.Fatalf("Replace 100 ms after the last write: %v", err)
		}
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = s.Get(ctx, p); errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("Get long after the last write: %v", err)
		}
	}
	if _, err := s.Replace(ctx, p, []byte("3"), rev); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Replace of what went away: %v", err)
	}
	_, err = s.Create(ctx, p, []byte("4"))
	check(t, err)
	if _, err := s.Get(ctx, other); err != nil {
		t.Errorf("Get what is not live: %v", err)
	}
}

// TestServerLimit: a document over the server's limit is refused before it is sent, with that limit.
func TestServerLimit(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir(), payload: 64 << 10}
	r.start()
	t.Cleanup(r.stop)
	ctx, s := t.Context(), r.store(t)
	if got := s.MaxValue(); got != 60<<10 {
		t.Fatalf("MaxValue: %d", got)
	}
	long := store.Key{Kind: store.Inbox, Owner: strings.Repeat("=", 200), Name: strings.Repeat("=", 200)}
	_, err := s.Create(ctx, long, make([]byte, s.MaxValue()+1))
	if err == nil || !strings.Contains(err.Error(), "this server takes at most 61440") {
		t.Errorf("Create of too much: %v", err)
	}
	_, err = s.Append(ctx, store.Key{Kind: store.Journal, Name: "n"}, store.AnyEnd, []byte(`"`+strings.Repeat("x", 60<<10)+`"`))
	if err == nil || !strings.Contains(err.Error(), "this server takes at most 61440") {
		t.Errorf("Append of too much: %v", err)
	}
	// The largest value under the longest names goes through, from one end to the other: headers find room.
	rev, err := s.Create(ctx, long, make([]byte, s.MaxValue()))
	check(t, err)
	check(t, s.Move(ctx, long, rev, archived(long)))
}

// TestOpen: a stream that would break the contract is refused, and a reader does not create a missing one.
func TestOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	o := r.options()
	o.ReadOnly = true
	if _, err := Open(ctx, "", o); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open for reading what is not there: %v", err)
	}
	o.ReadOnly, o.Name = false, "a.b"
	if _, err := Open(ctx, "", o); err == nil {
		t.Error("Open with a name that is none: accepted")
	}
	helper := r.store(t)
	o.Name = "foreign"
	_, err := helper.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "foreign-docs", History: 5})
	check(t, err)
	if _, err := Open(ctx, "", o); err == nil || !strings.Contains(err.Error(), "messages a subject 5, want 1") {
		t.Errorf("Open on a bucket with a history: %v", err)
	}
	if _, err := Open(ctx, "nats://me:secret@[::1", r.options()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Open at an address that is none: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Open(gone, "", r.options()); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a context that is done: %v", err)
	}
	_, err = Open(ctx, "nats://me:secret@127.0.0.1:1", Options{})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Open without a server: %v", err)
	} else if _, lost := errors.AsType[*UnreachableError](err); !lost {
		t.Errorf("Open without a server: %v, want an UnreachableError", err)
	}
}

// TestOpenTogether: many who open a new store at once get the same one.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			mine := o
			mine.LiveTTL = time.Duration(i+1) * time.Minute // each with a choice of its own
			s, err := Open(context.Background(), "", mine)
			if err != nil {
				t.Errorf("Open by %d: %v", i, err)
				return
			}
			defer s.Close()
			if _, err := s.Append(context.Background(), instances, store.AnyEnd, []byte("1")); err != nil {
				t.Errorf("Append by %d: %v", i, err)
			}
		})
	}
	all.Wait()
	n := 0
	for _, err := range r.open(t, o).Read(t.Context(), instances, "") {
		check(t, err)
		n++
	}
	if n != 8 {
		t.Errorf("%d lines by 8", n)
	}
}

// TestClose: a closed store refuses everything, and its watchers end.
func TestClose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	changes, err := s.Watch(ctx, []store.Scope{{Kind: store.Inbox}, {Kind: store.Trail, Name: "box"}})
	check(t, err)
	check(t, s.Close())
	check(t, s.Close())
	for c := range changes { // ends, or the test does not
		if !c.Rescan {
			t.Errorf("a change from a store that was closed: %v", c.Key)
		}
	}
	if _, err := s.Create(ctx, inbox, []byte("{}")); !errors.Is(err, errClosed) {
		t.Errorf("Create in a closed store: %v", err)
	}
}

// TestSlowWatcher: a watcher that does not read in time gets a rescan event.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	changes, err := s.Watch(ctx, []store.Scope{{Kind: store.Aliases}})
	check(t, err)
	for range 2000 {
		s.plantFast(t, store.Key{Kind: store.Aliases}, []byte("{}"))
	}
	<-s.js.PublishAsyncComplete()
	waitFor(t, changes, "2000 unread changes", func(c store.Change) bool { return c.Rescan })
}

// TestFilters: no two filters of a stream overlap, and each scope is covered.
func TestFilters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scopes []store.Scope
		want   string
	}{
		{[]store.Scope{{Kind: store.Presence}}, "presence.>"},
		{[]store.Scope{{Kind: store.Presence, Name: "a.b"}}, "presence.a=2Eb"},
		{[]store.Scope{{Kind: store.Schema}}, "schema"},
		{[]store.Scope{{Kind: store.Inbox, Owner: "o"}}, "inbox.o.>"},
		{[]store.Scope{{Kind: store.Inbox, Owner: "o", Name: "n"}}, "inbox.o.n"},
		{[]store.Scope{{Kind: store.Inbox, Name: "n"}}, "inbox.>"},
		{[]store.Scope{{Kind: store.Inbox, Owner: "o"}, {Kind: store.Inbox, Owner: "p"}}, "inbox.>"},
		{[]store.Scope{{Kind: store.Inbox, Owner: "o"}, {Kind: store.Inbox, Owner: "o"}, {Kind: store.Archive}}, "archive.> inbox.>"},
		{[]store.Scope{{Kind: store.Instances}, {Kind: store.Instances}, {Kind: store.Trail, Name: "t"}}, "instances trail.t"},
	} {
		var got []string
		for _, filters := range filtersOf(test.scopes) {
			got = append(got, filters...)
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("filters of %v: %s, want %s", test.scopes, text, test.want)
		}
	}
}
