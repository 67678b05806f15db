package agreement

import (
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
)

// TestForgedStateDoesNotHideTurn: writes an end and other parties into state.json: the signer whose turn it is still sees it.
func TestForgedStateDoesNotHideTurn(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"status": `"withdrawn"`, "parties": `["agy:eve:ffffffffffff"]`, "requiredSigners": `["agy:eve:ffffffffffff"]`} {
		h := newHall(t)
		ana, bob := everybody(h)
		id, _, err := h.bus.Propose(h.Context(), h.act(ana), Proposal{Scope: "scope:default", Text: "tabs", With: []address.Instance{bob}}, h.now)
		if err != nil {
			t.Fatal(err)
		}
		h.bus.Seen = seenNothing{}
		k := store.Key{Kind: store.Negotiation, Name: address.Segment(id)}
		doc, err := h.bus.store.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.bus.store.Replace(t.Context(), k, canonjson.Set(doc.Data, name, []byte(value)), doc.Rev); err != nil {
			t.Fatal(err)
		}
		turns, err := h.bus.Turns(t.Context(), bob, h.now)
		if err != nil || len(turns) != 1 || turns[0].ID != id {
			t.Errorf("%s: %+v %v", name, turns, err)
		}
	}
}

// seenNothing is the memory of a user who has read nothing.
type seenNothing struct{}

func (seenNothing) Last(string) (negotiation.Seen, error) { return negotiation.Seen{}, nil }
func (seenNothing) Keep(string, negotiation.Seen) error   { return nil }
func (seenNothing) Path(string) string                    { return "" }

// TestProposeNeedsAnotherParty: an agreement has another party, on the same bus.
func TestProposeNeedsAnotherParty(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, _ := everybody(h)
	_, _, err := h.bus.Propose(t.Context(), h.act(ana), Proposal{Scope: "scope:default", Text: "tabs", With: []address.Instance{ana}}, h.now)
	if err == nil || !strings.Contains(err.Error(), "with yourself") {
		t.Errorf("with oneself: %v", err)
	}
}
