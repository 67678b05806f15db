package identity

import "testing"

// What was made ahead is what a new agent gets, and nothing is left of what was not needed.
func TestMint(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		q := claude("c1")
		q.Name = "api two"
		m, err := k.Mint(q)
		if err != nil {
			t.Fatal(err)
		}
		if !k.Ring.Has(m.instance) {
			t.Fatal("it has no key")
		}
		q.Minted = m
		r := connect(t, k, q, noon)
		if r.Action != Mint || !m.Is(r.Instance) || r.Instance.Channel() != "claude:api-two" {
			t.Errorf("it became %+v, and was made as %s", r, m.instance)
		}
		if reg, err := k.Registry.ByInstance(t.Context(), r.Instance); err != nil || reg.AgentUUID != m.uuid {
			t.Errorf("its registration: %+v, %v", reg, err)
		}
		if n := lines(t, k, aliasesLog); n != 2 {
			t.Errorf("%d alias lines, want 2", n)
		}
		// The same conversation again needs none.
		if q.Minted, err = k.Mint(q); err != nil {
			t.Fatal(err)
		}
		if again := connect(t, k, q, noon); again.Instance != r.Instance || q.Minted.Is(again.Instance) {
			t.Errorf("again: %+v", again)
		}
		if n := lines(t, k, aliasesLog); n != 2 {
			t.Errorf("%d alias lines after it came again, want 2", n)
		}
		for range 2 {
			if err := k.Drop(q.Minted); err != nil {
				t.Error(err)
			}
		}
		if k.Ring.Has(q.Minted.instance) || !k.Ring.Has(r.Instance) {
			t.Error("the wrong key was taken away")
		}
		if err := k.Drop(Minted{}); err != nil {
			t.Error(err)
		}
		if _, err := k.Mint(Request{Host: "no host", Place: srvAPI}); err == nil {
			t.Error("a host that is none got a key")
		}
	})
}
