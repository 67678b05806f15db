package nhi_test

import (
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/nhi"
	"tutti/internal/store/memstore"
)

// TestSameSPIFFE: two agents may come to one SPIFFE id. That is a name to show: the bundle of each has its own keys alone, and one that goes leaves
// the other as it is.
func TestSameSPIFFE(t *testing.T) {
	b := newBus(t, memstore.New(memstore.Options{}))
	twin, key := address.Instance(strings.Replace(string(who), ":api:", ":api.", 1)), signature.Generate()
	b.register(twin, key)
	one, err := nhi.SPIFFE("corp.test", who)
	two, err2 := nhi.SPIFFE("corp.test", twin)
	if err != nil || err2 != nil || one != two || who.Canonical() == twin.Canonical() {
		t.Fatalf("%q of %s, %q of %s, %v, %v", one, who, two, twin, err, err2)
	}
	holds := func(i address.Instance, want *signature.Private) {
		t.Helper()
		bundle, err := nhi.Bundle(t.Context(), b.Registry, i, "corp.test")
		raw := render.JSON(bundle)
		if err != nil || strings.Count(string(raw), `"kid"`) != 1 || !strings.Contains(string(raw), want.Public().Short()) {
			t.Errorf("the bundle of %s: %s, %v; want the key %s", i, raw, err, want.Public().Short())
		}
	}
	holds(who, b.key)
	holds(twin, key)
	if _, err := b.Offboard(t.Context(), nhi.Leave{Instance: who}, now); err != nil {
		t.Fatal(err)
	}
	holds(twin, key)
}
