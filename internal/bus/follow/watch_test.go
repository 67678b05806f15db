package follow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/trust"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

// A bench is a watch that runs, the store it looks at, and the switch it asks.
type bench struct {
	t      *testing.T
	s      store.Docs
	events chan Event
	halted atomic.Bool
	look   chan struct{}
	now    atomic.Int64
	end    context.CancelFunc
	done   chan error
}

func start(t *testing.T, s store.Docs, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, s: s, events: make(chan Event), look: make(chan struct{}), done: make(chan error, 1)}
	b.now.Store(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	o := Options{Store: s, Now: b.clock, Switch: Switch{Look: b.look, Read: func() halt.State {
		return halt.State{Halted: b.halted.Load(), Reason: "runaway loop"}
	}}}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.end = cancel
	go func() {
		b.done <- New(o).Run(ctx, func(e Event) error {
			select {
			case b.events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-b.done; err != nil {
			t.Errorf("watch ended with %v, want nil", err)
		}
		b.done <- nil
	})
	b.want("watching")
	return b
}

func (b *bench) clock() time.Time { return time.Unix(0, b.now.Load()).UTC() }

// line writes an event as tests compare it.
func line(e Event) string {
	switch e.Kind {
	case Mail:
		word := ""
		if e.Verdict != nil {
			word = e.Verdict.Word.String()
		} else if e.Err != nil {
			word = e.Err.Error()
		}
		return fmt.Sprintf("mail %s %s %s %q %s", e.Mailbox, e.Message.ID, e.Message.Actor.Instance, e.Message.Text(), word)
	case Joined, Left:
		return fmt.Sprintf("%s %s %s", e.Kind, e.Session.SessionID, e.Session.Instance)
	case Halted:
		return "halted " + e.Reason
	case Resumed:
		return fmt.Sprintf("resumed %d", e.Missed)
	case Unfit:
		return "unfit " + e.Mailbox
	}
	return string(e.Kind)
}

func (b *bench) want(lines ...string) {
	b.t.Helper()
	for _, want := range lines {
		select {
		case e := <-b.events:
			if got := strings.TrimSpace(line(e)); got != want {
				b.t.Fatalf("got event %q, want %q", got, want)
			}
		case err := <-b.done:
			b.done <- err
			b.t.Fatalf("the watch has ended with %v, want event %q", err, want)
		case <-time.After(10 * time.Second):
			b.t.Fatalf("no event within 10 s, want %q", want)
		}
	}
}

func message(id, text string) []byte {
	return fmt.Appendf(nil, `{"protocol":"sentropic.h2a","version":"0.1","type":"event","id":%q,"actor":{"instance":"codex:web:0a1b2c3d4e5f","role":"AGENTS","scope":"scope:default"},`+
		`"target":{"instance":"claude:api"},"body":{"kind":"message","text":%q},"createdAt":"2026-06-01T12:00:00.000Z"}`, id, text)
}

func (b *bench) put(owner, name, id, text string) {
	b.t.Helper()
	b.write(store.Key{Kind: store.Inbox, Owner: owner, Name: name}, message(id, text))
}

func (b *bench) write(k store.Key, data []byte) {
	b.t.Helper()
	if _, err := b.s.Create(b.t.Context(), k, data); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) presence(name, state string, age time.Duration) {
	b.t.Helper()
	k := store.Key{Kind: store.Presence, Name: name}
	data := fmt.Appendf(nil, `{"sessionId":%q,"instance":"claude:%s:001122334455","state":%q,"startedAt":"2026-06-01T11:00:00Z",`+
		`"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"heartbeatAt":%q}`,
		name, name, state, b.clock().Add(-age).Format(time.RFC3339Nano))
	doc, err := b.s.Get(b.t.Context(), k)
	if errors.Is(err, store.ErrNotFound) {
		b.write(k, data)
		return
	}
	if err == nil {
		_, err = b.s.Replace(b.t.Context(), k, data, doc.Rev)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// both runs a test on a store in memory and on one in a folder.
func both(t *testing.T, f func(t *testing.T, s store.Docs)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		f(t, memstore.New(memstore.Options{}))
	})
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		f(t, folder(t))
	})
}

func folder(t *testing.T) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "root"), filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func only(owners ...string) func(*Options) {
	return func(o *Options) {
		o.Mailboxes = func(context.Context) ([]string, error) { return owners, nil }
	}
}

const from = "codex:web:0a1b2c3d4e5f"

func TestNewMailIsReportedOnce(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		if _, err := s.Create(t.Context(), store.Key{Kind: store.Inbox, Owner: "me", Name: "old"}, message("old", "before")); err != nil {
			t.Fatal(err)
		}
		b := start(t, s, func(o *Options) {
			only("me", "alias")(o)
			o.Judge = func(_ context.Context, _ string, e *envelope.Envelope) (trust.Verdict, error) {
				if e.Text() == "forged" {
					return trust.Verdict{}, errors.New("not checked")
				}
				return trust.Verdict{Word: trust.Verified}, nil
			}
			o.Every = 20 * time.Millisecond // full looks come in between all the time
		})
		b.put("me", "1", "1", "hello")
		b.want(`mail me 1 ` + from + ` "hello" verified`)
		b.put("alias", "1", "1", "the same in another mailbox of the reader")
		b.put("stranger", "2", "2", "not ours")
		b.put("alias", "3", "3", "forged")
		b.want(`mail alias 3 ` + from + ` "forged" not checked`)
		b.put("me", "4", "4", "last")
		b.want(`mail me 4 ` + from + ` "last" verified`)
	})
}

// A file of another name that has the id of a message does not keep the message from being told.
func TestCopyUnderAnotherNameIsReported(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		b := start(t, s, only("me", "alias"))
		b.put("me", "zzz", "1", "the copy comes first")
		b.want(`mail me 1 ` + from + ` "the copy comes first"`)
		b.put("me", "1", "1", "the message")
		b.want(`mail me 1 ` + from + ` "the message"`)
		b.put("me", "aaa", "1", "another copy")
		b.put("alias", "1", "1", "the same in another mailbox of the reader")
		b.put("me", "2", "2", "last")
		b.want(`mail me 2 ` + from + ` "last"`)
	})
}

func TestAllMailboxes(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		b := start(t, s, nil)
		b.put("one", "1", "1", "a")
		b.want(`mail one 1 ` + from + ` "a"`)
		b.put("two", "1", "1", "a") // one message for several is told for each
		b.want(`mail two 1 ` + from + ` "a"`)
		b.put("one", "2", "2", "b")
		b.want(`mail one 2 ` + from + ` "b"`)
	})
}

func TestPeers(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		b := start(t, s, func(o *Options) { o.Every = 20 * time.Millisecond })
		b.presence("s1", "live", 0)
		b.want("joined s1 claude:s1:001122334455")
		b.presence("s1", "live", time.Second) // a heartbeat
		b.presence("dead", "live", 91*time.Second)
		b.presence("s2", "opening", 89*time.Second)
		b.want("joined s2 claude:s2:001122334455")
		b.presence("s1", "closed", 0)
		b.want("left s1 claude:s1:001122334455")
		b.now.Add(int64(2 * time.Second)) // the last heartbeat of s2 is now too old
		b.want("left s2 claude:s2:001122334455")
		b.presence("s2", "live", 0)
		b.want("joined s2 claude:s2:001122334455")
		k := store.Key{Kind: store.Presence, Name: "s2"}
		doc, err := s.Get(t.Context(), k)
		if err == nil {
			err = s.Delete(t.Context(), k, doc.Rev)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.want("left s2 claude:s2:001122334455")
	})
}

func TestHaltSilences(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		b := start(t, s, only("me"))
		b.halted.Store(true)
		b.put("me", "1", "1", "while halted") // nobody told of the switch: it is asked before each event
		b.want("halted runaway loop")
		b.look <- struct{}{} // said once
		b.put("me", "2", "2", "while halted")
		b.presence("s1", "live", 0)
		for b.rest("me", "1") || b.rest("me", "2") {
			// each was counted before it was taken away
		}
		b.halted.Store(false)
		looked := b.lookLater() // a late hint may have it look by itself, and it does not listen before that event was taken
		b.want("resumed 2")
		<-looked
		b.put("me", "3", "3", "after")
		b.want(`mail me 3 ` + from + ` "after"`)
	})
}

// TestHaltEndsBeforeTheHint: mail that arrived during a halt is not reported as new, however late the store reports the change.
func TestHaltEndsBeforeTheHint(t *testing.T) {
	both(t, func(t *testing.T, s store.Docs) {
		b := start(t, s, only("me"))
		for n := range 20 {
			b.halted.Store(true)
			looked := b.lookLater()
			b.want("halted runaway loop")
			<-looked
			late, news := fmt.Sprintf("late%d", n), fmt.Sprintf("news%d", n)
			b.put("me", late, late, "while halted")
			b.halted.Store(false)
			looked = b.lookLater()
			b.want("resumed 1")
			<-looked
			b.put("me", news, news, "after")
			b.want("mail me " + news + " " + from + ` "after"`)
		}
	})
}

// lookLater tells of the switch as soon as the watch listens, which may have an event to be taken before that.
func (b *bench) lookLater() (looked <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case b.look <- struct{}{}:
		case <-b.t.Context().Done():
		}
	}()
	return done
}

// rest takes a message away once the watch has had time to read it; it reports whether it still lay there.
func (b *bench) rest(owner, name string) bool {
	b.t.Helper()
	k := store.Key{Kind: store.Inbox, Owner: owner, Name: name}
	doc, err := b.s.Get(b.t.Context(), k)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	for range 20 { // as many turns of the watch as it may need for the hints before
		select {
		case b.look <- struct{}{}:
		case e := <-b.events:
			b.t.Fatalf("got event %q while halted", line(e))
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err == nil {
		err = b.s.Delete(b.t.Context(), k, doc.Rev)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return true
}

func TestHaltedAtTheStart(t *testing.T) {
	t.Parallel()
	b := start(t, memstore.New(memstore.Options{}), func(o *Options) {
		o.Switch.Read = func() halt.State { return halt.State{Halted: true, Unreadable: true, Reason: "x"} }
	})
	b.want("halted the switch cannot be read")
}

// TestInvalidFiles: a file that another program creates and then fills is reported when it is complete. One that stays invalid is named
// once, and neither hides another file.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	s := folder(t)
	b := start(t, s, func(o *Options) {
		only("me")(o)
		o.Every = 50 * time.Millisecond
	})
	dir := filepath.Join(s.Path(), "inbox", "me")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want("unfit me")
	f, err := os.Create(filepath.Join(dir, "slow.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.put("me", "1", "1", "another")
	b.want(`mail me 1 ` + from + ` "another"`)
	if _, err := f.Write(message("slow", "whole now")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		e := <-b.events // named as unfit first if two full looks came in between
		if got := line(e); got == "unfit me" {
			continue
		} else if want := `mail me slow ` + from + ` "whole now" `; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		break
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), message("bad", "mended"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(`mail me bad ` + from + ` "mended"`)
}

// plain hides everything of a store but reading.
type plain struct{ store.Reader }

func TestWithoutWatcher(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	got := make(chan Event, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- New(Options{Store: plain{s}, Every: 10 * time.Millisecond, Switch: Switch{Read: func() halt.State { return halt.State{} }}}).
			Run(ctx, func(e Event) error { got <- e; return nil })
	}()
	if e := <-got; e.Kind != Watching || !e.Polled {
		t.Errorf("got %+v, want a first event that says it is polled", e)
	}
	if _, err := s.Create(t.Context(), store.Key{Kind: store.Inbox, Owner: "me", Name: "1"}, message("1", "a")); err != nil {
		t.Fatal(err)
	}
	if e := <-got; e.Kind != Mail {
		t.Errorf("got %+v, want mail", e)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got %v, want nil when the context ends", err)
	}
}

func TestRunReturnsErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	o := Options{Store: memstore.New(memstore.Options{}), Switch: Switch{Read: func() halt.State { return halt.State{} }}}
	if err := New(o).Run(t.Context(), func(Event) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("emit: got %v, want %v", err, broken)
	}
	o.Mailboxes = func(context.Context) ([]string, error) { return nil, broken }
	if err := New(o).Run(t.Context(), func(Event) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("mailboxes: got %v, want %v", err, broken)
	}
}

// Mailboxes that come to the reader later are followed from the next full look on.
func TestMailboxesChange(t *testing.T) {
	t.Parallel()
	var owners atomic.Pointer[[]string]
	owners.Store(&[]string{"me"})
	b := start(t, memstore.New(memstore.Options{}), func(o *Options) {
		o.Every = 10 * time.Millisecond
		o.Mailboxes = func(context.Context) ([]string, error) { return *owners.Load(), nil }
	})
	owners.Store(&[]string{"me", "alias"})
	b.put("alias", "1", "1", "for the alias")
	b.want(`mail alias 1 ` + from + ` "for the alias"`)
}

func TestRecentDropsOldest(t *testing.T) {
	t.Parallel()
	var r recent
	for i := range uint64(3 * recentLimit) {
		if !r.add(i) {
			t.Fatalf("%d: told as known, it is new", i)
		}
		if back := i - min(i, recentLimit-1); r.add(back) {
			t.Fatalf("%d: forgotten after %d others", back, i-back)
		}
	}
	if n := len(r.now) + len(r.before); n > 2*recentLimit {
		t.Errorf("%d are kept, want at most %d", n, 2*recentLimit)
	}
}
