package mailbox

import (
	"testing"
	"time"

	"tutti/internal/core/address"
)

// TestOfferReturned: a reader that ends returns its offered messages to others at once. No other process can return them in its name.
func TestOfferReturned(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const id = "env:1:aa"
		mark := func(step Step, by address.Instance, session, result string) State {
			t.Helper()
			m := Mark{ID: id, Step: step, By: string(by), Session: session, Result: result, At: noon}
			if err := w.m.Step(t.Context(), alice, m); err != nil {
				t.Fatal(err)
			}
			states, err := w.m.State(t.Context(), alice, []string{id})
			if err != nil {
				t.Fatal(err)
			}
			return states[id]
		}
		next := Reader{By: alice, Session: "s2"}
		mark(Offered, alice, "s1", "")
		for _, c := range []struct {
			by      address.Instance
			session string
			result  string
			want    bool
		}{
			{alice, "s2", ResultBack, false},
			{bob, "s1", ResultBack, false},
			{alice, "s1", "rewake: no answer", false},
			{alice, "", ResultBack, false},
			{alice, "s1", ResultBack, true},
		} {
			s := mark(Failed, c.by, c.session, c.result)
			if got := s.Free(next, noon.Add(time.Second)); got != c.want {
				t.Errorf("after %q of %s in %q it is free: %v, want %v", c.result, c.by, c.session, got, c.want)
			}
			if at, ever := s.FreeAt(next); !ever || at.IsZero() != c.want || !c.want && !at.Equal(noon.Add(ClaimFor)) {
				t.Errorf("after %q of %s in %q it is free from %v on, %v", c.result, c.by, c.session, at, ever)
			}
		}
		mark(Offered, alice, "", "")
		for _, c := range []struct {
			by      address.Instance
			session string
			want    bool
		}{{bob, "", false}, {alice, "s1", false}, {alice, "", true}} {
			if got := mark(Failed, c.by, c.session, ResultBack); got.Free(next, noon) != c.want {
				t.Errorf("offered to a command, given back by %s in %q: free is %v", c.by, c.session, !c.want)
			}
		}
		if s := mark(Offered, alice, "s2", ""); s.Free(Reader{By: alice, Session: "s3"}, noon) {
			t.Error("a claim after it counts for nothing")
		}
		if at, _ := mark(Offered, alice, "s2", "").FreeAt(next); !at.Equal(noon.Add(AgainAfter)) {
			t.Errorf("its own reader may have it again at %v", at)
		}
		if _, ever := mark(Taken, alice, "s2", "").FreeAt(next); ever {
			t.Error("what was taken is free at some time")
		}
	})
}
