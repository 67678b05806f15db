package trust

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store/memstore"
)

// A key that was added later counts with a proof by an earlier one, through any number of steps, and not without. What was pinned decides
// which keys are the earlier ones; without a pin it is those that the agent began with.
func TestProvenKeys(t *testing.T) {
	t.Parallel()
	r := registry.New(memstore.New(memstore.Options{}))
	first, second, third, added := signature.Generate(), signature.Generate(), signature.Generate(), signature.Generate()
	raw := registry.Build(registry.Agent{Instance: ana, Roles: []string{"AGENTS"}, Root: "/bus", PublicKeys: []string{first.Public().PEM()}}, now)
	if err := r.Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	add := func(key, by *signature.Private) {
		t.Helper()
		var proof *signature.Object
		if by != nil {
			event, err := canonjson.Canonical(registry.AddedEvent(string(ana), key.Public(), now))
			if err != nil {
				t.Fatal(err)
			}
			o := by.Object(string(ana), event)
			proof = &o
		}
		if err := r.AddKey(t.Context(), ana, key.Public().PEM(), proof, now); err != nil {
			t.Fatal(err)
		}
	}
	add(second, first)
	add(added, nil)
	add(third, second)
	if err := r.RevokeKey(t.Context(), ana, second.Public().PEM(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	pins := OpenPins(filepath.Join(t.TempDir(), "pins"))
	want := func(when string, key *signature.Private, word Word) {
		t.Helper()
		k, err := KeysOf(context.Background(), r, pins, ana)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.rate(1, 1, key.Public()); got.Word != word {
			t.Errorf("%s: %v (%s), want %v", when, got.Word, got.Detail, word)
		}
	}
	want("the first key, nothing pinned", first, NewKey)
	want("a proven one, nothing pinned", third, NewKey)
	want("one without a proof, nothing pinned", added, KeyChanged)
	want("a revoked one", second, BadSignature)
	if err := pins.Pin(ana, first.Public(), now); err != nil {
		t.Fatal(err)
	}
	want("the first key, pinned", first, Verified)
	want("proven by one that the pinned one has proven", third, Verified)
	want("one without a proof, another one pinned", added, KeyChanged)
	if err := pins.Trust(ana, added.Public(), now); err != nil {
		t.Fatal(err)
	}
	want("one without a proof, trusted", added, Verified)
	want("proven by another one than the pinned one", third, KeyChanged)
}
