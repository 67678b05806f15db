package remote

import (
	"slices"
	"testing"
	"time"

	"tutti/internal/core/signature"
)

// TestMostVerifications: one envelope costs a bounded number of verifications, whatever is attached to it. An invalid signature counts as
// one.
func TestMostVerifications(t *testing.T) {
	e, reason := Read(letter(t, "env-limit", time.Now()))
	if reason != "" {
		t.Fatal(reason)
	}
	good, mine := e.Own()[0], keys[alice].Public()
	wrong, none := good, good
	wrong.Value = "AAAA" + good.Value[4:]
	none.Alg = "rsa"
	for what, bad := range map[string]signature.Object{"wrong": wrong, "none": none, "cut": {By: good.By, Alg: good.Alg, Value: good.Value[:80]}} {
		for _, each := range []int{1, 4} { // keys, the agent's own among them
			pool := append(slices.Repeat([]signature.Public{keys[eve].Public()}, each-1), mine)
			for _, before := range []int{0, maxVerified/each - 1, maxVerified / each} {
				by := append(slices.Repeat([]signature.Object{bad}, before), good)
				_, ok := Signed(e, by, pool)
				if want := before < maxVerified/each; ok != want {
					t.Errorf("%s: the signature behind %d others, %d keys: %v, want %v", what, before, each, ok, want)
				}
			}
		}
	}
}

// TestNoSignature: an invalid signature is ignored, even if most of it looks like a valid one.
func TestNoSignature(t *testing.T) {
	e, reason := Read(letter(t, "env-none", time.Now()))
	if reason != "" {
		t.Fatal(reason)
	}
	good, mine := e.Own()[0], keys[alice].Public()
	for what, o := range map[string]signature.Object{
		"as made":             good,
		"of another kind":     {By: good.By, Alg: "rsa", Value: good.Value},
		"with something more": {By: good.By, Alg: good.Alg, Value: good.Value + "=!"},
		"with its end spoilt": {By: good.By, Alg: good.Alg, Value: good.Value[:86] + "!!"},
	} {
		if _, ok := Signed(e, []signature.Object{o}, []signature.Public{mine}); ok != (what == "as made") {
			t.Errorf("%s: %v", what, ok)
		}
	}
}
