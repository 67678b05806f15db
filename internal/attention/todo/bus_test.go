package todo

import (
	"fmt"
	"slices"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestMore: that more matters are there than are looked at waits for a person, and for no agent.
func TestMore(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	for n := range 10_002 {
		line := fmt.Appendf(nil, `{"id":"evt-%d","type":"escalate","actor":{"instance":"codex:x:000000000001"},"body":{"kind":"escalation","channel":"decide","payload":"q"},"negotiationId":"n:1"}`, n)
		if _, err := s.Append(t.Context(), store.Key{Kind: store.Journal, Name: address.Segment("n:1")}, store.AnyEnd, line); err != nil {
			t.Fatal(err)
		}
	}
	b := &Bus{Agreements: agreement.New(s, registry.New(s)), Store: s}
	for who, want := range map[address.Instance]bool{"human:ana:0123456789ab": true, "claude:a:000000000001": false} {
		all, err := b.matters(t.Context(), who, noon)
		if got := slices.ContainsFunc(all, func(i Item) bool { return i.ID == "more" }); err != nil || got != want {
			t.Errorf("%s is told: %v, %v, want %v", who, got, err, want)
		}
	}
}
