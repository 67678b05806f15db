package mail

import (
	"testing"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
)

// TestSubagentSends: a subagent signs with the key of its agent, which is the one that is pinned. A key that is registered for it alone
// signs nothing, and is not pinned.
func TestSubagentSends(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	scout := &identity.Speaker{Instance: ana.Instance + "~scout", Role: identity.RoleAgent, Scope: identity.DefaultScope}
	if err := b.Registry.Register(t.Context(), registry.Build(registry.Agent{Instance: scout.Instance}, b.clock)); err != nil {
		t.Fatal(err)
	}
	b.second(scout, bob.Instance, "env:forged", "forged")
	b.clock = b.clock.Add(time.Second)
	b.send(Draft{From: scout, To: bob.Instance, Text: "true"})
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "forged (bad signature), true (new key)" {
		t.Errorf("received %s", got)
	}
	for who, want := range map[address.Instance]int{ana.Instance: 1, scout.Instance: 0} {
		if pins, _ := b.Pins.Get(who); len(pins) != want {
			t.Errorf("%s has %d pins, want %d", who, len(pins), want)
		}
	}
	b.send(Draft{From: ana, To: bob.Instance, Text: "herself"})
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "herself (verified)" {
		t.Errorf("received %s", got)
	}
	keys, err := trust.KeysOf(t.Context(), b.Registry, b.Pins, scout.Instance+"~deeper")
	if err != nil || len(keys.Active) != 1 {
		t.Errorf("the subagent of a subagent: %+v, %v", keys, err)
	}
}
