package agreement

import (
	"slices"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/governance/negotiation"
)

// TestFollow: a party is notified of new entries by others, and not of old ones or its own. An agent without a part in it is notified only
// if it has asked for that.
func TestFollow(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	a, b, c := h.enter("a", "CONDUCTOR"), h.enter("b", "CONDUCTOR"), h.enter("c", "CONDUCTOR")
	early := h.bus.Follow(b, nil)
	look := func(what string, f *Follower, want ...Growth) {
		t.Helper()
		got, err := f.Look(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", what, got, err, want)
		}
	}
	look("an empty bus", early)
	h.open(a, b)
	late, own, stranger, curious := h.bus.Follow(b, nil), h.bus.Follow(a, nil), h.bus.Follow(c, nil), h.bus.Follow(c, []string{"n:1"})
	for _, f := range []*Follower{late, own, stranger, curious} {
		look("what was there", f)
	}
	look("opened since", early, Growth{"n:1", 1, 1})
	if turns, err := h.bus.Turns(t.Context(), b, h.now); err != nil || len(turns) != 1 || turns[0].ID != "n:1" || turns[0].Offer == nil ||
		turns[0].Command != "tutti negotiate accept n:1 --instance "+string(b) {
		t.Errorf("turns of a party: %+v, %v", turns, err)
	}
	if turns, err := h.bus.Turns(t.Context(), c, h.now); err != nil || len(turns) != 0 {
		t.Errorf("turns of a stranger: %+v, %v", turns, err)
	}
	sign := func(i address.Instance) {
		t.Helper()
		if _, err := h.bus.Negotiations().Sign(t.Context(), "n:1", h.act(i), "", h.now); err != nil {
			t.Fatal(err)
		}
	}
	sign(a)
	look("signed by oneself", own)
	look("signed by another", late, Growth{"n:1", 1, 2})
	look("the same again", late)
	look("of no concern", stranger)
	look("of interest", curious, Growth{"n:1", 1, 2})
	sign(b)
	if turns, err := h.bus.Turns(t.Context(), a, h.now); err != nil || len(turns) != 1 || turns[0].Offer != nil || turns[0].State != negotiation.Accepted {
		t.Errorf("turns when all have signed: %+v, %v", turns, err)
	}
	if _, err := h.bus.Negotiations().Stabilize(t.Context(), "n:1", negotiation.Act{}, h.now); err != nil {
		t.Fatal(err)
	}
	look("signed and stabilised", own, Growth{"n:1", 4, 6})
	look("over", own)
	if turns, err := h.bus.Turns(t.Context(), a, h.now); err != nil || len(turns) != 0 {
		t.Errorf("turns when it is over: %+v, %v", turns, err)
	}
}
