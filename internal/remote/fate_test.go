package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/canonjson"
	"tutti/internal/mailbox"
	"tutti/internal/remote/door"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

var errFull = errors.New("no space left on device")

// A faulty store fails where a test wants it to, beside batches and in them.
type faulty struct {
	*filestore.Store
	batch  func() error            // nil: never
	create func(k store.Key) error // nil: never; may panic

	deleted atomic.Int64
}

func (f *faulty) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	f.deleted.Add(1)
	return f.Store.Delete(ctx, k, old)
}

func (f *faulty) Batch(ctx context.Context, fn func(store.Writer) error) error {
	return f.Store.Batch(ctx, func(w store.Writer) error {
		err := fn(&faultyWriter{w, f})
		if err == nil && f.batch != nil {
			err = f.batch()
		}
		return err
	})
}

func (f *faulty) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	return (&faultyWriter{f.Store, f}).Create(ctx, k, data)
}

type faultyWriter struct {
	store.Writer
	f *faulty
}

func (w *faultyWriter) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	if w.f.create != nil {
		if err := w.f.create(k); err != nil {
			return "", err
		}
	}
	return w.Writer.Create(ctx, k, data)
}

// beset has a receiver work on a faulty store.
func beset(f *faulty) func(*Receiver) {
	return func(r *Receiver) {
		f.Store = r.Guard.Docs.(*filestore.Store)
		r.Office.Mail, r.Guard = mailbox.New(f), &Guard{Docs: f, Kind: store.RemoteReplay}
	}
}

// group brings envelopes of alice to be put together, and returns the statuses of the answers.
func (x *site) group(ids ...string) (got []int) {
	x.t.Helper()
	var all []*parcel
	for _, id := range ids {
		e, reason := Read(letter(x.t, id, time.Now()))
		if reason != "" {
			x.t.Fatal(reason)
		}
		c, seen, err := x.r.Guard.Claim(x.t.Context(), Name(alice, e.ID), e.ID, e.CreatedAt)
		if err != nil || seen {
			x.t.Fatal(seen, err)
		}
		all = append(all, &parcel{e: e, size: len(e.Raw), claim: c, done: make(chan door.Answer, 1)})
	}
	x.r.put(x.t.Context(), all)
	for _, p := range all {
		got = append(got, (<-p.done).Status)
	}
	return got
}

// TestRetryAfterFailure: an id is used up when its envelope was delivered and marked, and not before.
func TestRetryAfterFailure(t *testing.T) {
	var broken atomic.Bool
	fail := func() error {
		if broken.Load() {
			return errFull
		}
		return nil
	}
	x := open(t, beset(&faulty{batch: fail, create: func(k store.Key) error {
		if k.Kind == store.RemoteReplay { // its message can still be put by itself
			return fail()
		}
		return nil
	}}))
	broken.Store(true)
	good := letter(t, "env-f", time.Now())
	x.wants("disk full", good, 500, `{"ok":false,"error":"apply-failed"}`)
	broken.Store(false)
	x.wants("honest retry", good, 202, "ok")
	x.wants("replay", good, 409, "replayed")
	if n := x.box(bob); n != 1 {
		t.Errorf("%d messages, want one", n)
	}
}

// TestEachByItsFate: of a group in which one cannot be marked, the others hear that they were taken, and so it is.
func TestEachByItsFate(t *testing.T) {
	bad := Name(alice, "env-2")
	f := &faulty{create: func(k store.Key) error {
		if k.Name == bad {
			return errFull
		}
		return nil
	}}
	x := open(t, beset(f))
	if got := fmt.Sprint(x.group("env-1", "env-2", "env-3")); got != "[202 500 202]" {
		t.Errorf("got %s, want [202 500 202]", got)
	}
	var batches atomic.Int64 // the first is that of the messages: it fails, each is put by itself, and one of the markers cannot be
	f.batch = func() error {
		batches.Add(1)
		return errFull
	}
	bad = Name(alice, "env-5")
	if got := fmt.Sprint(x.group("env-4", "env-5", "env-6")); got != "[202 500 202]" || batches.Load() == 0 {
		t.Errorf("where batches fail: got %s, want [202 500 202]", got)
	}
	for i := 1; i <= 6; i++ {
		_, err := x.s.Get(t.Context(), store.Key{Kind: store.RemoteReplay, Name: Name(alice, fmt.Sprint("env-", i))})
		if marked := err == nil; marked != (i%3 != 2) {
			t.Errorf("envelope %d: %v", i, err)
		}
	}
}

// TestOnePanics: what has the store fail where it must not takes nothing else down with it, and uses up no share.
func TestOnePanics(t *testing.T) {
	x := open(t, beset(&faulty{create: func(k store.Key) error {
		if strings.Contains(k.Name, "poison") {
			panic("poison")
		}
		return nil
	}}))
	x.r.Rates = &Rates{PerSecond: 1}
	if got := fmt.Sprint(x.group("env-1", "env-poison", "env-3")); got != "[202 500 202]" {
		t.Errorf("got %s, want [202 500 202]", got)
	}
	for range 10 {
		x.wants("again", letter(t, "env-poison", time.Now()), 500, "apply-failed")
	}
	x.alive("a panic")
	if n := x.box(bob); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

// TestOverheard: what was overheard and is refused, as often as it is brought, leaves its sender its share, and its own place.
func TestOverheard(t *testing.T) {
	at := time.Now()
	x := open(t, func(r *Receiver) {
		r.Rates = &Rates{PerSecond: 1} // five at once
		r.Now = func() time.Time { return at }
		r.Endpoints = []string{"https://bus.example/h2a/envelopes"}
	})
	taken := letter(t, "env-taken", at)
	x.wants("first", taken, 202, "ok")
	other, err := Seal(canonjson.Delete(letter(t, "env-other", at), "signatures"), alice, keys[alice], "https://other.example/h2a/envelopes")
	if err != nil {
		t.Fatal(err)
	}
	ghost := letter(t, "env-ghost", at, set("target", `{"instance":"codex:ghost:cccccccccccc"}`))
	for _, c := range []struct {
		what   string
		body   []byte
		status int
		word   string
	}{
		{"replayed", taken, 409, "replayed"},
		{"replayed with one more signature", canonjson.Set(taken, "signatures", append(append([]byte(`[{"by":"x","alg":"ed25519","value":"x"},`), listed(taken)...), ']')), 409, "replayed"},
		{"for another endpoint", other, 400, "wrong-endpoint"},
		{"stale", letter(t, "env-stale", at.Add(-time.Hour)), 422, "expired"},
		{"to somebody who is not here", ghost, 403, "unknown-recipient"},
	} {
		for range 10 {
			x.wants(c.what, c.body, c.status, c.word)
		}
	}
	for i := range 4 {
		x.wants("what is left of the share", letter(t, fmt.Sprint("env-", i), at), 202, "ok")
	}
	x.wants("beyond the share", letter(t, "env-5", at), 429, "rate-limited")
	x.register("codex:ghost:cccccccccccc")
	x.r.Rates.Give(alice, 0) // one thing
	x.wants("the agent came", ghost, 202, "ok")
}

// TestNameTaken: where one of a group finds its name taken at the last moment, no marker of it is ever there, and the others are stored and
// marked.
func TestNameTaken(t *testing.T) {
	var f faulty
	taken := false
	f.create = func(k store.Key) error {
		if k.Kind == store.RemoteReplay && !taken { // the letters are written and have no names yet
			taken = true
			_, err := f.Store.Create(t.Context(), store.Key{Kind: store.Inbox, Owner: bob.Mailbox(), Name: "env-2"}, []byte(`{}`))
			return err
		}
		return nil
	}
	x := open(t, beset(&f))
	got := x.group("env-1", "env-2", "env-3")
	if got[0] != 202 || got[1]/100 == 2 || got[2] != 202 {
		t.Errorf("got %v, want that the first and the last are taken", got)
	}
	for i, want := range []bool{true, false, true} {
		_, err := x.s.Get(t.Context(), store.Key{Kind: store.RemoteReplay, Name: Name(alice, fmt.Sprint("env-", i+1))})
		if marked := err == nil; marked != want {
			t.Errorf("envelope %d: marked is %v (%v)", i+1, marked, err)
		}
	}
	if n := f.deleted.Load(); n != 0 {
		t.Errorf("%d markers were there and had to be taken back", n)
	}
}

// listed is what stands in the list of signatures.
func listed(raw []byte) []byte {
	list, _ := canonjson.Get(raw, "signatures")
	return list[1 : len(list)-1]
}

// TestMarkersComeLast: of a group all messages are created before the first marker, in one batch, so that a power cut leaves no marker
// without its message: an honest retry would be refused, and the message lost.
func TestMarkersComeLast(t *testing.T) {
	var kinds []string
	x := open(t, beset(&faulty{create: func(k store.Key) error {
		kinds = append(kinds, k.Kind.String())
		return nil
	}}))
	if got := fmt.Sprint(x.group("env-1", "env-2", "env-3")); got != "[202 202 202]" {
		t.Fatalf("got %s", got)
	}
	if got := strings.Join(kinds, " "); got != "inbox inbox inbox remote-replay remote-replay remote-replay" {
		t.Errorf("created: %s", got)
	}
}

// TestSweepIsCheap: markers are not deleted one by one, each of which would cost a sync of their folder.
func TestSweepIsCheap(t *testing.T) {
	var f faulty
	x := open(t, beset(&f))
	for n := range 5 {
		x.group(fmt.Sprint("env-a", n), fmt.Sprint("env-b", n))
	}
	later := time.Now().Add(keepMarkers + time.Minute)
	for _, want := range []int{4, 4, 2, 0} {
		if gone, err := x.r.Guard.Sweep(t.Context(), 4, later); gone != want || err != nil {
			t.Errorf("removed %d (%v), want %d", gone, err, want)
		}
	}
	if n := f.deleted.Load(); n != 0 {
		t.Errorf("%d markers were deleted by themselves", n)
	}
}
