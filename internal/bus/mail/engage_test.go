package mail

import (
	"testing"
	"time"

	"tutti/internal/halt"
)

// TestEngagedUnknown: when the memory of halts is damaged, so that only their number is left, nobody counts as one whose user has let it go on; once
// it is whole again that can be said.
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
		t.Error("it was let go on, which nobody can tell")
	}
	met.Seen = b.clock.Add(-time.Minute)
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
