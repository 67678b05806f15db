package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote/listen"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

var errFull = errors.New("no space left on device")

// A faulty store fails where a test wants it to, beside batches and in them.
type faulty struct {
	*filestore.Store
	batch  func() error               // nil: never
	create func(k store.Key) error    // nil: never; may panic
	extend func(lines [][]byte) error // nil: never
	ended  func()                     // nil: nobody asks; a batch is durable
}

func (f *faulty) Batch(ctx context.Context, fn func(store.Writer) error) error {
	err := f.Store.Batch(ctx, func(w store.Writer) error {
		err := fn(&faultyWriter{w, f})
		if err == nil && f.batch != nil {
			err = f.batch()
		}
		return err
	})
	if f.ended != nil {
		f.ended()
	}
	return err
}

func (f *faulty) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	return (&faultyWriter{f.Store, f}).Create(ctx, k, data)
}

func (f *faulty) Extend(ctx context.Context, k store.Key, after store.Pos, lines [][]byte) (store.Pos, error) {
	if f.extend != nil && k.Kind == store.RemoteReplay {
		if err := f.extend(lines); err != nil {
			return "", err
		}
	}
	return f.Store.Extend(ctx, k, after, lines)
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
		f.Store = r.Store.(*filestore.Store)
		r.Office.Mail, r.Guard = mailbox.New(f), &Guard{Memory: &Ledger{Log: f}}
	}
}

// thing is an envelope of alice, as her envelopes are remembered.
func thing(e *envelope.Envelope) Thing {
	return Thing{Name: Name(alice, e.ID), ID: e.ID, CreatedAt: e.CreatedAt}
}

// round brings envelopes of alice on their way together.
func (x *site) round(raws ...[]byte) (all []*parcel) {
	x.t.Helper()
	for _, raw := range raws {
		e, reason := Read(raw)
		if reason != "" {
			x.t.Fatal(reason)
		}
		c, seen, err := x.r.Guard.Claim(x.t.Context(), thing(e))
		if err != nil || seen {
			x.t.Fatal(seen, err)
		}
		all = append(all, &parcel{e: e, key: keys[alice].Public(), size: len(e.Raw), claim: c, done: make(chan listen.Answer, 1)})
	}
	return all
}

// answers puts what is on its way, and returns the statuses of the answers.
func (x *site) answers(all []*parcel) (got []int) {
	x.r.finish(x.t.Context(), x.r.put(x.t.Context(), all))
	for _, p := range all {
		got = append(got, (<-p.done).Status)
	}
	return got
}

// group brings envelopes of alice to be put together, and returns the statuses of the answers.
func (x *site) group(ids ...string) []int {
	x.t.Helper()
	var raws [][]byte
	now := time.Now() // one page
	for _, id := range ids {
		raws = append(raws, letter(x.t, id, now))
	}
	return x.answers(x.round(raws...))
}

// noted tells which things a process that begins now finds taken.
func (x *site) noted(all []*parcel) (noted []bool) {
	x.t.Helper()
	var things []Thing
	for _, p := range all {
		things = append(things, p.claim.thing)
	}
	return seen(x.t.(*testing.T), &Ledger{Log: x.s}, things...)
}

// TestRetryAfterFailure: an id is used up when its envelope was delivered and noted, and not before.
func TestRetryAfterFailure(t *testing.T) {
	var broken atomic.Bool
	fail := func() error {
		if broken.Load() {
			return errFull
		}
		return nil
	}
	x := open(t, beset(&faulty{batch: fail, extend: func([][]byte) error { return fail() }})) // its message can still be put by itself
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

// TestNotNoted: if a group cannot be recorded as accepted, no sender gets an acceptance, and each message can be sent again.
func TestNotNoted(t *testing.T) {
	var f faulty
	x := open(t, beset(&f))
	f.extend = func([][]byte) error { return errFull }
	raws := [][]byte{letter(t, "env-1", time.Now()), letter(t, "env-2", time.Now()), letter(t, "env-3", time.Now())}
	all := x.round(raws...)
	if got := fmt.Sprint(x.answers(all), x.noted(all)); got != "[500 500 500] [false false false]" {
		t.Errorf("got %s", got)
	}
	f.extend = func([][]byte) error { panic("poison") }
	if got := fmt.Sprint(x.group("env-4")); got != "[500]" {
		t.Errorf("noting panics: got %s", got)
	}
	f.extend = nil
	for _, raw := range raws {
		x.wants("again", raw, 202, "ok")
	}
	f.batch = func() error { return errFull } // each message is put by itself then
	all = x.round(letter(t, "env-5", time.Now()), letter(t, "env-6", time.Now()))
	if got := fmt.Sprint(x.answers(all), x.noted(all)); got != "[202 202] [true true]" {
		t.Errorf("where batches fail: got %s", got)
	}
	if n := x.box(bob); n != 6 {
		t.Errorf("%d messages, want 6", n)
	}
}

// TestRevokedMeanwhile: an accepted envelope is checked once more before it is stored: its key may have been revoked by then, or another
// program may have accepted it.
func TestRevokedMeanwhile(t *testing.T) {
	x := open(t)
	x.wants("a key that is remembered from now on", letter(t, "env-0", time.Now()), 202, "ok")
	all := x.round(letter(t, "env-1", time.Now()), letter(t, "env-2", time.Now()))
	if err := (&Ledger{Log: x.s}).Keep(t.Context(), all[1].claim.thing); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.answers(all)); got != "[202 409]" {
		t.Errorf("taken by another program: got %s", got)
	}
	next := signature.Generate()
	if err := x.reg.AddKey(t.Context(), alice, next.Public().PEM(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	all = x.round(letter(t, "env-3", time.Now()))
	if err := x.reg.RevokeKey(t.Context(), alice, keys[alice].Public().PEM(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.answers(all), x.noted(all)); got != "[401] [false]" {
		t.Errorf("revoked meanwhile: got %s", got)
	}
	for range 2 { // the first one has our memory of the key corrected
		x.r.active.put(alice, []signature.Public{keys[alice].Public()})
		x.wants("revoked", letter(t, fmt.Sprint("env-", time.Now().UnixNano()), time.Now()), 401, "bad-signature")
	}
	x.r.active.put(alice, []signature.Public{keys[alice].Public()})
	x.wants("a bad one, to a memory that is not true any more", canonjson.Set(letter(t, "env-x", time.Now()), "body", []byte(`{}`)), 401, "bad-signature")
	if got := x.r.active.of(alice); len(got) != 1 || got[0] != next.Public() {
		t.Errorf("remembered then: %v", got)
	}
	other, err := envelope.Sign(canonjson.Delete(letter(t, "env-4", time.Now()), "signatures"), alice, next)
	if err != nil {
		t.Fatal(err)
	}
	x.wants("the key that was added", other, 202, "ok")
	if n := x.box(bob); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

// TestOnePanics: an envelope that makes the store panic affects no other, and uses up no quota.
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

// TestReplayedDoesNotUseQuota: a copied envelope that is refused uses up neither its sender's quota nor its id, however often it is sent.
func TestReplayedDoesNotUseQuota(t *testing.T) {
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
		{"to an unknown recipient", ghost, 403, "unknown-recipient"},
	} {
		for range 10 {
			x.wants(c.what, c.body, c.status, c.word)
		}
	}
	for i := range 4 {
		x.wants("the rest of the quota", letter(t, fmt.Sprint("env-", i), at), 202, "ok")
	}
	x.wants("beyond the share", letter(t, "env-5", at), 429, "rate-limited")
	x.register("codex:ghost:cccccccccccc")
	x.r.Rates.Give(alice, 0) // one thing
	x.wants("the agent came", ghost, 202, "ok")
}

// TestNameTaken: where one of a group finds its name taken at the last moment, it is never noted as taken, and the others are stored and
// noted.
func TestNameTaken(t *testing.T) {
	var f faulty
	x := open(t, beset(&f))
	f.batch = func() error { // the letters are written and have no names yet
		_, err := f.Store.Create(t.Context(), store.Key{Kind: store.Inbox, Owner: bob.Mailbox(), Name: "env-2"}, []byte(`{}`))
		return err
	}
	var notes [][]byte
	f.extend = func(lines [][]byte) error {
		notes = append(notes, lines...)
		return nil
	}
	now := time.Now()
	all := x.round(letter(t, "env-1", now), letter(t, "env-2", now), letter(t, "env-3", now))
	if got := fmt.Sprint(x.answers(all)); got != "[202 409 202]" {
		t.Errorf("got %s, want that the first and the last are taken", got)
	}
	if got := fmt.Sprint(x.noted(all)); got != "[true false true]" || len(notes) != 1 {
		t.Errorf("noted %s, in %d lines", got, len(notes))
	}
}

// listed is what stands in the list of signatures.
func listed(raw []byte) []byte {
	list, _ := canonjson.Get(raw, "signatures")
	return list[1 : len(list)-1]
}

// TestNotedAfterDurable: a group is recorded as accepted when all its messages are durable, in one line, so that no power cut leaves a
// record without its message: a retry would be refused, and the message lost.
func TestNotedAfterDurable(t *testing.T) {
	var did []string
	x := open(t, beset(&faulty{
		create: func(k store.Key) error {
			did = append(did, k.Kind.String())
			return nil
		},
		ended: func() { did = append(did, "durable") },
		extend: func(lines [][]byte) error {
			did = append(did, fmt.Sprint("noted in ", len(lines)))
			return nil
		},
	}))
	if got := fmt.Sprint(x.group("env-1", "env-2", "env-3")); got != "[202 202 202]" {
		t.Fatalf("got %s", got)
	}
	if got := strings.Join(did, ", "); got != "inbox, inbox, inbox, durable, noted in 1" {
		t.Errorf("what was done: %s", got)
	}
}
