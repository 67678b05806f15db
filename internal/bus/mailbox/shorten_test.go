package mailbox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestShortenTrails: above 4 MiB old lines of messages that are gone are taken out, and no others.
func TestShortenTrails(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		old, now := noon.Add(-ShortenAge-time.Hour), noon
		trail := trailKey(alice.Mailbox())
		add := func(line []byte) {
			t.Helper()
			if _, err := w.s.Append(t.Context(), trail, store.AnyEnd, line); err != nil {
				t.Fatal(err)
			}
		}
		count := func() (n int) {
			for _, err := range w.s.Read(t.Context(), trail, "") {
				if err == nil {
					n++
				}
			}
			return n
		}
		w.put(t, alice, msg("env:here", old, "waits"))
		w.put(t, "Claude:API:aaaaaaaaaaaa", msg("env:gone", old, "dealt with"))
		w.plant(store.Key{Kind: store.Inbox, Owner: "Claude__API__aaaaaaaaaaaa", Name: "any"}, msg("env:other", old, "in another spelling"))
		if _, err := w.m.Take(t.Context(), alice, "env:gone"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"env:here", "env:other", "env:gone"} {
			w.step(t, alice, Mark{ID: id, Step: Shown, At: old, By: string(alice)})
		}
		w.step(t, alice, Mark{ID: "env:gone", Step: Taken, At: old, By: string(alice)})
		w.step(t, alice, Mark{ID: "env:gone", Step: Engaged, At: old, By: string(alice)})
		w.step(t, alice, Mark{ID: "env:young", Step: Taken, At: old.Add(2 * time.Hour), By: string(alice)})
		add([]byte(`{"id":"env:gone","at":"soon","step":"taken"}`))
		add([]byte(`{"id":"env:gone","at":"2001-01-01T00:00:00.000Z","step":"eaten"}`))

		shorten := func(dry bool) []Shortened {
			t.Helper()
			got, err := w.m.ShortenTrails(t.Context(), now, now, dry)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if _, ok := w.s.(store.Shrinker); !ok {
			if _, err := w.m.ShortenTrails(t.Context(), now, now, false); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("a store that cannot: %v", err)
			}
			return
		}
		small := count()
		if got := shorten(false); len(got) != 0 || count() != small {
			t.Errorf("a small trail: %+v, %d lines of %d are left", got, count(), small)
		}
		long := fmt.Sprintf("%0300d", 0)
		many := 0
		for size := 0; size <= ShortenFrom; many++ {
			line := (&Mark{ID: fmt.Sprint("env:old:", many), Step: Taken, At: old, By: string(alice), Result: long}).line()
			size += len(line) + 1
			add(line)
		}
		gone := many + 2 // shown and taken of env:gone
		if got := shorten(true); len(got) != 1 || got[0].Lines != gone || got[0].Trail != alice.Mailbox() || count() != small+many {
			t.Errorf("dry: %+v, %d lines; want %d to go of %d", got, count(), gone, small+many)
		}
		if got := shorten(false); len(got) != 1 || got[0].Lines != gone || got[0].Bytes < ShortenFrom {
			t.Errorf("got %+v, want %d lines", got, gone)
		}
		if count() != small-2 {
			t.Errorf("%d lines are left, want %d", count(), small-2)
		}
		states, err := w.m.State(t.Context(), alice, []string{"env:here", "env:other", "env:young", "env:gone"})
		if err != nil {
			t.Fatal(err)
		}
		if states["env:here"].Shown.IsZero() || states["env:other"].Shown.IsZero() || states["env:young"].Taken.IsZero() ||
			states["env:gone"].Engaged.IsZero() || !states["env:gone"].Shown.IsZero() {
			t.Errorf("states: %+v", states)
		}
		if got := w.offer(t, alice, Reader{By: bob, Session: "s"}, now, "env:here", "env:new"); got != "env:here env:new" {
			t.Errorf("Offer afterwards: %q", got)
		}
	})
}
