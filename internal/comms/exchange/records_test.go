package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/platform/filelock"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	l := r.Ledger(p)
	if !l.Lost() {
		t.Error("a ledger that never was is not lost")
	}
	one := Entry{start, aName, "q", 1, strings.Repeat("a", 64), "request", "AAAA", "process", false}
	two := Entry{start, "other.org", "q-and-more", 7, strings.Repeat("b", 64), "progress", "", "dedup", false}
	must(t, l.Add(t.Context(), one, two))
	must(t, l.Add(t.Context(), one))
	if got, err := l.Entries("q"); err != nil || !reflect.DeepEqual(got, []Entry{one}) {
		t.Errorf("Entries(q) = %+v, %v; want %+v once", got, err, one)
	}
	if want := `{"t":"2026-04-27T10:00:00Z","name":"20260427T100000Z-from-web-q.org","conversation_id":"q","sequence":1,"sha256":"` +
		one.SHA256 + `","type":"request","signer":"AAAA","decision":"process"}` + "\n"; !strings.HasPrefix(content(t, l.Path()), want) {
		t.Errorf("the first line is\n%s\nwant\n%s", content(t, l.Path()), want)
	}
	if st, err := os.Stat(l.Path()); err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", st.Mode(), err)
	}
	if want := r.StatePath("ledger/" + p.Key() + ".jsonl"); l.Path() != want || !strings.HasPrefix(p.Key(), "notes-") || len(p.Key()) != 14 {
		t.Errorf("it lies at %s, want %s", l.Path(), want)
	}
	dedup := one
	dedup.Decision = "dedup"
	must(t, l.Add(t.Context(), dedup))
	rebuilt := one
	rebuilt.Rebuilt = true
	must(t, l.Add(t.Context(), rebuilt)) // says less than what is there
	if got, _ := l.Entries("q"); len(got) != 2 || got[1].Decision != "dedup" {
		t.Errorf("after another decision: %+v", got)
	}
}

// TestJournalTornEnd: a torn last line is skipped, and the next entry starts on a new line.
func TestJournalTornEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := journal{r.Service, "ledger", "x.jsonl"}
	must(t, j.add(t.Context(), []byte(`{"n":1}`)))
	for _, torn := range []string{`{"n":2,"na`, "\x00\x00\x00", "no object\n", "\n\n", `{"n":"half}`} {
		f, err := os.OpenFile(j.path(), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString(torn)
		must(t, err)
		must(t, f.Close())
		lines, err := j.read()
		before := len(lines)
		must(t, err)
		must(t, j.add(t.Context(), []byte(`{"n":3}`)))
		lines, err = j.read()
		if err != nil || len(lines) != before+1 || string(lines[0]) != `{"n":1}` || string(lines[before]) != `{"n":3}` {
			t.Errorf("after the end %q: %s, %v", torn, bytes.Join(lines, []byte(" ")), err)
		}
	}
}

// TestJournalMissingFinalNewline: nothing but the line end was lost.
func TestJournalMissingFinalNewline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := journal{r.Service, "ledger", "x.jsonl"}
	must(t, os.MkdirAll(r.StatePath("ledger"), 0o700))
	must(t, os.WriteFile(j.path(), []byte(`{"n":1}`), 0o600))
	must(t, j.add(t.Context(), []byte(`{"n":2}`)))
	if got := content(t, j.path()); got != "{\"n\":1}\n{\"n\":2}\n" {
		t.Errorf("%q", got)
	}
}

func TestJournalConcurrentWriters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				j := journal{r.Service, "ledger", "x.jsonl"}
				if err := j.add(context.Background(), fmt.Appendf(nil, `{"w":%d,"i":%d}`, w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines, err := journal{r.Service, "ledger", "x.jsonl"}.read()
	if err != nil || len(lines) != 160 {
		t.Errorf("%d lines, %v; want 160", len(lines), err)
	}
	slices.SortFunc(lines, bytes.Compare)
	if lines = slices.CompactFunc(lines, bytes.Equal); len(lines) != 160 {
		t.Errorf("%d different lines, want 160", len(lines))
	}
}

func TestJournalLink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := journal{r.Service, "ledger", "x.jsonl"}
	must(t, os.MkdirAll(r.StatePath("ledger"), 0o700))
	victim := filepath.Join(r.Home, "victim")
	must(t, os.WriteFile(victim, []byte("kept"), 0o600))
	must(t, os.Symlink(victim, j.path()))
	if err := j.add(t.Context(), []byte(`{}`)); err == nil {
		t.Error("a line was written through a link")
	}
	if content(t, victim) != "kept" {
		t.Error("the file behind the link was changed")
	}
}

func TestSentRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("web")
	e := SentEntry{
		Time: start, Name: aName, To: "alpha.notes", Conversation: "q", Sequence: 4, SHA256: strings.Repeat("a", 64), Type: "release",
		Timestamp: "2026-04-27T12:00:00+02:00", ReleaseStatus: "complete", InReplyTo: 3, Title: "Line\nend", Key: "ABC",
	}
	other := e
	other.Conversation, other.Name, other.Pushback = "r", "x.org", "insist"
	for _, e := range []SentEntry{e, other, e} {
		must(t, r.Sent(p).Add(t.Context(), e))
	}
	if got, err := r.Sent(p).Entries("q"); err != nil || !reflect.DeepEqual(got, []SentEntry{e}) {
		t.Errorf("Entries(q) = %+v, %v; want %+v once", got, err, e)
	}
	if got, err := r.Sent(p).Entries(""); err != nil || len(got) != 2 || !reflect.DeepEqual(got[1], other) {
		t.Errorf("Entries() = %+v, %v; want two", got, err)
	}
	if got, err := r.Sent(r.project("none")).Entries(""); err != nil || got != nil {
		t.Errorf("of one that sent nothing: %+v, %v", got, err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	claim := func(by, sum, want string) {
		t.Helper()
		got, until, err := r.claim(t.Context(), p, aName, sum, by)
		if err != nil || got != want || !until.After(r.clock) {
			t.Errorf("%s claims %s at %v: %s has it until %v, %v; want %s", by, sum, r.clock, got, until, err, want)
		}
	}
	claim("s1", "a", "s1")
	claim("s2", "a", "s1")
	claim("s2", "b", "s2")
	r.later(9 * time.Minute)
	claim("s1", "a", "s1") // once more, for another 10 minutes
	r.later(9 * time.Minute)
	claim("s2", "a", "s1")
	r.later(time.Minute)
	claim("s2", "a", "s2")
	r.later(-24 * time.Hour) // a lease of a clock that was wrong
	claim("s3", "a", "s3")
}

// TestClaimHasOneWinner: many sessions want one message at once.
func TestClaimHasOneWinner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders := map[string]int{}
	for i := range 10 {
		wg.Go(func() {
			by := fmt.Sprint("session ", i)
			got, _, err := r.claim(context.Background(), p, aName, "a", by)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			holders[got]++
		})
	}
	wg.Wait()
	if len(holders) != 1 {
		t.Errorf("%v, want one holder", holders)
	}
}

func TestOldClaimsAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	for i := range tidyAt + 1 {
		if _, _, err := r.claim(t.Context(), p, fmt.Sprint(i), "a", "s"); err != nil {
			t.Fatal(err)
		}
		r.later(time.Hour)
	}
	if lines, err := r.claims(p).read(); err != nil || len(lines) != 1 {
		t.Errorf("%d lines, %v; want the last one alone", len(lines), err)
	}
}

func TestAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	for i, c := range []struct {
		conv, why string
		first     bool
	}{{"q", "tool_missing", true}, {"q", "tool_missing", false}, {"q", "version_mismatch", true}, {"r", "tool_missing", true}} {
		if had := r.hasAsked(p, c.conv, c.why); had == c.first {
			t.Errorf("%d: asked before: %v", i, had)
		}
		if first, err := r.asks(t.Context(), p, c.conv, c.why); first != c.first || err != nil {
			t.Errorf("%d: first=%v, %v; want %v", i, first, err, c.first)
		}
	}
}

func testBundle(r *rig, p SignedMessage) Bundle {
	return Bundle{
		Destination: "beta.notes", From: "web", Project: "/somewhere/web", Name: p.Name, SHA256: hashOf(p.Message), Key: "ABC",
		Cause: CauseSending,
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if all, errs := r.Bundles(); all != nil || errs != nil || r.BundleCount() != 0 {
		t.Errorf("at first: %v, %v", all, errs)
	}
	parcel := testParcel("web", 1)
	h, err := r.keep(t.Context(), testBundle(r, parcel), parcel)
	must(t, err)
	folder := r.StatePath("failed-sends/" + strings.TrimSuffix(parcel.Name, ".org"))
	only(t, folder, "message.org", "message.org.asc", "send.json", ".lock")
	if st, err := os.Stat(folder); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", st.Mode(), err)
	}
	if content(t, folder+"/message.org") != string(parcel.Message) || content(t, folder+"/message.org.asc") != string(parcel.Signature) {
		t.Error("the bytes were changed")
	}
	if _, err := r.hold(t.Context(), h.ID); !errors.Is(err, ErrInHand) {
		t.Errorf("held by two: %v, want ErrInHand", err)
	}
	told := []string{}
	if fault := r.ResendAll(t.Context(), 0, func(id string, _ *Sent, err error) { told = append(told, id+" "+sendError(err).Code) }); fault != 0 ||
		!slices.Equal(told, []string{h.ID + " " + CodeInHand}) {
		t.Errorf("sent again meanwhile: fault %d, %q", fault, told)
	}
	if _, err := r.Resend(t.Context(), "none", 0); sendError(err).Code != CodeNoBundle {
		t.Errorf("no bundle: %v", err)
	}
	must(t, h.note(CauseUnreachable, 4, errors.New("ssh exit 255")))
	h.release()
	want := testBundle(r, parcel)
	want.ID, want.Tries, want.LastError, want.Cause = h.ID, 4, "ssh exit 255", CauseUnreachable
	want.FirstTry, want.LastTry = start, start
	for _, id := range []string{h.ID, folder, folder + "/"} {
		if got, err := r.Bundle(id); err != nil || got != want {
			t.Errorf("Bundle(%q) = %+v, %v; want %+v", id, got, err, want)
		}
	}

	// The same message to the same place is the same bundle, to another place another one.
	again, err := r.keep(t.Context(), testBundle(r, parcel), parcel)
	must(t, err)
	if again.ID != h.ID || again.Tries != 4 || again.fresh {
		t.Errorf("kept again: %+v", again.Bundle)
	}
	elsewhere := testBundle(r, parcel)
	elsewhere.Destination = "gamma.notes"
	third, err := r.keep(t.Context(), elsewhere, parcel)
	must(t, err)
	if third.ID != h.ID+"-2" || !third.fresh {
		t.Errorf("kept for another place: %+v", third.Bundle)
	}
	third.release()
	must(t, os.Mkdir(r.StatePath("failed-sends/empty"), 0o700))
	all, errs := r.Bundles()
	var broken *BundleError
	if len(all) != 2 || len(errs) != 1 || !errors.As(errs[0], &broken) || broken.ID != "empty" || r.BundleCount() != 3 {
		t.Errorf("%d bundles, %v, count %d; want 2, one broken, 3", len(all), errs, r.BundleCount())
	}
	must(t, os.MkdirAll(r.StatePath("failed-sends/.tmp.done-"+h.ID+"/left"), 0o700)) // by one that was killed
	must(t, again.drop())
	if _, err := r.Bundle(h.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was dropped: %v", err)
	}
	only(t, r.StatePath("failed-sends"), "empty", third.ID)
}

func TestChangedBundle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parcel := testParcel("web", 1)
	h, err := r.keep(t.Context(), testBundle(r, parcel), parcel)
	must(t, err)
	h.release()
	folder := r.StatePath("failed-sends/" + h.ID)
	for name, spoil := range map[string]func() error{
		"message.org":     func() error { return os.WriteFile(folder+"/message.org", []byte("other"), 0o600) },
		"message.org.asc": func() error { return os.Remove(folder + "/message.org.asc") },
		"send.json":       func() error { return os.WriteFile(folder+"/send.json", []byte(`{"name":"../../x.org"}`), 0o600) },
	} {
		was := content(t, folder+"/"+name)
		must(t, spoil())
		var broken *BundleError
		if h, err := r.hold(t.Context(), h.ID); !errors.As(err, &broken) {
			t.Errorf("with another %s: %+v, %v; want a *BundleError", name, h, err)
		}
		must(t, os.WriteFile(folder+"/"+name, []byte(was), 0o600))
	}
	for _, id := range []string{"", ".", "..", "../sent", "a/b", ".lock", "none"} {
		if _, err := r.Bundle(id); err == nil {
			t.Errorf("Bundle(%q) is one", id)
		}
	}
}

// TestLedgerLock: a program that takes the lock of the ledger keeps others out.
func TestLedgerLock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.Ledger(r.project("notes"))
	must(t, l.Add(t.Context(), Entry{Name: aName, Conversation: "q", Sequence: 1}))
	dir, err := os.Open(filepath.Dir(l.Path()))
	must(t, err)
	defer dir.Close()
	lock, err := filelock.Acquire(t.Context(), int(dir.Fd()), dir.Name(), filelock.Options{Kernel: filepath.Base(l.Path())})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Add(ctx, Entry{Name: "b.org", Conversation: "q", Sequence: 2}); err == nil {
		t.Error("a line was written without the lock")
	}
	must(t, lock.Release())
}

// TestBundleDeliveredByOtherProcess: a process that waits for a bundle that another one delivers keeps the message again, and finds it
// delivered.
func TestBundleDeliveredByOtherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parcel := testParcel("web", 1)
	h, err := r.keep(t.Context(), testBundle(r, parcel), parcel)
	must(t, err)
	type kept struct {
		h   *held
		err error
	}
	waits := make(chan kept, 1)
	go func() {
		again, err := r.keep(t.Context(), testBundle(r, parcel), parcel)
		waits <- kept{again, err}
	}()
	time.Sleep(200 * time.Millisecond) // it waits by now; if not, it makes a new one
	must(t, h.drop())
	again := <-waits
	if again.err != nil || again.h.ID != h.ID || !again.h.fresh {
		t.Fatalf("%+v, %v; want one of its own", again.h, again.err)
	}
	must(t, again.h.drop())
	only(t, r.StatePath("failed-sends"))
}
