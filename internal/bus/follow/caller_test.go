package follow

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestFullPollOnDemand: a caller with its own timer decides when everything is read, and when an agent has left.
func TestFullPollOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := make(chan struct{})
		var stay atomic.Bool
		var asked atomic.Pointer[presence.Session]
		b := start(t, memstore.New(memstore.Options{}), func(o *Options) {
			o.Full, o.Expiry = full, 30*time.Second
			o.Gone = func(s *presence.Session, _ bool) bool { asked.Store(s); return !stay.Load() }
		})
		b.presence("a", presence.Live, 0)
		b.want("joined a claude:a:001122334455")
		b.now.Add(int64(31 * time.Second))
		b.put("me", "1", "1", "hello") // a change that is none of the peers'
		b.want(`mail me 1 ` + from + ` "hello"`)
		time.Sleep(61 * time.Second)
		synctest.Wait() // an event would be stuck in the channel, and be what the next want finds

		stay.Store(true)
		full <- struct{}{}
		b.put("me", "2", "2", "it stays")
		b.want(`mail me 2 ` + from + ` "it stays"`)
		if s := asked.Load(); s == nil || s.SessionID != "a" || len(s.Raw) == 0 {
			t.Errorf("asked about %+v, want the session as it was read now", s)
		}
		stay.Store(false)
		b.presence("b", presence.Live, 0)
		b.want("joined b claude:b:001122334455")
		full <- struct{}{}
		b.want("left a claude:a:001122334455")
	})
}

// TestEventOrder: the order of events: joins, leaves, mail.
func TestEventOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := make(chan struct{})
		m := memstore.New(memstore.Options{})
		b := start(t, m, func(o *Options) { o.Full, o.Store, o.Every = full, plain{m}, time.Hour })
		b.presence("a", presence.Live, 0)
		full <- struct{}{}
		b.want("joined a claude:a:001122334455")
		synctest.Wait() // the look goes on behind the event, and is not to see what follows
		b.put("me", "1", "1", "hello")
		b.presence("a", presence.Closed, 0)
		b.presence("z", presence.Live, 0)
		full <- struct{}{}
		b.want("joined z claude:z:001122334455", "left a claude:a:001122334455", `mail me 1 `+from+` "hello"`)
	})
}

// TestForget: a message that the caller found incomplete at the start is read again.
func TestForget(t *testing.T) {
	t.Parallel()
	m := memstore.New(memstore.Options{})
	k := store.Key{Kind: store.Inbox, Owner: "me", Name: "1"}
	rev, err := m.Create(t.Context(), k, []byte("{"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var w *Watch
	got, done := make(chan string, 9), make(chan error)
	w = New(Options{Store: m, Switch: Switch{Read: func() halt.State { return halt.State{} }}})
	go func() {
		done <- w.Run(ctx, func(e Event) error {
			if e.Kind == Watching {
				w.Forget(k)
				w.Forget(store.Key{Kind: store.Inbox, Owner: "nobody", Name: "1"})
			}
			got <- line(e)
			return nil
		})
	}()
	<-got
	if err := m.Delete(t.Context(), k, rev); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), k, message("1", "whole")); err != nil {
		t.Fatal(err)
	}
	if got, want := <-got, `mail me 1 `+from+` "whole" `; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
