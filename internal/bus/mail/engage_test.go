package mail

import (
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// TestEngagedUnknown: if the halt counter is damaged and only its number is left, no agent counts as engaged. Once it is repaired, agents
// do again.
func TestEngagedUnknown(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	met := halt.Entry{Count: 3}
	b.Memory = func() (halt.Entry, error) { return met, nil }
	ana := b.agent("claude", "ana").Instance
	if on, err := b.Engaged(t.Context(), ana); on || err == nil {
		t.Errorf("got %v, %v, want an error", on, err)
	}
	if err := b.Engage(t.Context(), Reader{Instance: ana}); err == nil {
		t.Error("it is reported as engaged, which is unknown")
	}
	met.Seen = b.clock.Add(time.Second)
	b.clock = b.clock.Add(time.Minute)
	if on, err := b.Engaged(t.Context(), ana); on || err != nil {
		t.Errorf("got %v, %v, want that it was not", on, err)
	}
	if err := b.Engage(t.Context(), Reader{Instance: ana}); err != nil {
		t.Fatal(err)
	}
	if on, err := b.Engaged(t.Context(), ana); !on || err != nil {
		t.Errorf("got %v, %v, want that it was", on, err)
	}
}

// TestEngagedNewcomer: an agent that joined after the halt was not stopped, and its user has nothing to let go on.
func TestEngagedNewcomer(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	halted := false
	met := halt.Entry{Count: 1}
	b.Memory = func() (halt.Entry, error) { return met, nil }
	b.Halted = func(string) error {
		if halted {
			return &halt.Error{}
		}
		return nil
	}
	old := b.agent("claude", "old").Instance
	met.Seen = b.clock.Add(time.Second)
	b.clock = b.clock.Add(time.Minute)
	fresh := b.agent("codex", "fresh").Instance
	b.clock = b.clock.Add(time.Second)
	for who, want := range map[address.Instance]bool{old: false, fresh: true, "gemini:nobody:000000000001": false} {
		if on, err := b.Engaged(t.Context(), who); on != want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", who, on, err, want)
		}
	}
	const unregistered = "gemini:new:000000000002"
	if _, err := b.Book.Presence.Open(t.Context(), presence.Start{Instance: unregistered, PID: 1}, b.clock); err != nil {
		t.Fatal(err)
	}
	if on, err := b.Engaged(t.Context(), unregistered); !on || err != nil {
		t.Errorf("an unregistered agent: %v, %v", on, err)
	}
	halted = true
	if on, err := b.Engaged(t.Context(), fresh); on || err != nil {
		t.Errorf("under halt: %v, %v", on, err)
	}
}

// TestStopped: an agent with a session from before the halt is stopped until its user lets it go on. One that was started anew is not.
func TestStopped(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	met := halt.Entry{Count: 1}
	b.Memory = func() (halt.Entry, error) { return met, nil }
	who := b.agent("claude", "ana").Instance
	open := func(extra map[string][]byte) *presence.Session {
		s, err := b.Book.Presence.Open(t.Context(), presence.Start{Instance: who, PID: 1, Extra: extra}, b.clock)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before, standIn := open(nil), open(map[string][]byte{presence.StandIn: []byte("true")})
	met.Seen = b.clock.Add(time.Second)
	b.clock = b.clock.Add(time.Minute)
	after := open(nil)
	for name, c := range map[string]struct {
		live []*presence.Session
		want bool
	}{"begun before": {[]*presence.Session{before}, true}, "begun anew": {[]*presence.Session{after}, false}, "both": {[]*presence.Session{before, after}, true}, "a stand-in": {[]*presence.Session{standIn}, false}} {
		if got, err := b.Stopped(t.Context(), who, c.live); got != c.want || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if err := b.Engage(t.Context(), Reader{Instance: who}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Stopped(t.Context(), who, []*presence.Session{before}); got || err != nil {
		t.Errorf("let go on: got %v, %v", got, err)
	}
}
