package remote

import (
	"fmt"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

func agent(n int) address.Instance { return address.Instance(fmt.Sprintf("claude:many:%012d", n)) }

// TestManySigners: with more signers than are remembered, one that sends little is not refused, and many names do not get more.
func TestManySigners(t *testing.T) {
	now := time.Now()
	r := &Rates{PerSecond: 1}
	for n := range 3 * maxSigners {
		if _, ok := r.Take(agent(n), 100, now); !ok {
			t.Fatalf("signer %d, of whom nothing was heard before, was refused", n)
		}
	}
	if len(r.all) != maxSigners || r.idle.Len() != maxSigners {
		t.Errorf("%d and %d shares are remembered, want %d", len(r.all), r.idle.Len(), maxSigners)
	}
	taken := 3 * maxSigners
	for n := range 20 * maxSigners {
		if _, ok := r.Take(agent(n%(2*maxSigners)), 100, now); ok {
			taken++
		}
	}
	if most := 5 * maxSigners; taken > most {
		t.Errorf("%d requests were accepted at once, want at most %d: a new name does not get a new quota", taken, most)
	}
	if _, ok := r.Take("codex:honest:aaaaaaaaaaaa", 100, now.Add(time.Second)); !ok {
		t.Error("an honest signer was refused a second later")
	}
}

// TestForgetsIdlestSigner: a signer that has used up its quota and keeps sending is not forgotten in favour of one-time signers.
func TestForgetsIdlestSigner(t *testing.T) {
	now := time.Now()
	r := &Rates{PerSecond: 1}
	use := func() (n int) {
		for range 10 {
			if _, ok := r.Take(alice, 100, now); ok {
				n++
			}
		}
		return n
	}
	if n := use(); n != 5 {
		t.Fatalf("%d were taken, want 5", n)
	}
	for n := range 5 * maxSigners {
		if n%(maxSigners/2) == 0 && use() != 0 {
			t.Fatal("a share that was used up was whole again")
		}
		r.Take(agent(n), 100, now)
	}
}

// TestGive: returned quota can be used again, and no more than that.
func TestGive(t *testing.T) {
	now := time.Now()
	r := &Rates{PerSecond: 1}
	for range 100 {
		if _, ok := r.Take(alice, 1<<20, now); !ok {
			t.Fatal("what was given back is missing")
		}
		r.Give(alice, 1<<20)
	}
	r.Give(bob, 1)
	n := 0
	for range 10 {
		r.Give(alice, 1)
		if _, ok := r.Take(alice, 1, now); ok {
			n++
		}
	}
	if n != 10 || len(r.all) != 1 {
		t.Errorf("%d of 10 were taken, %d shares", n, len(r.all))
	}
}

// TestManyKeys: an agent with many keys may sign with any of them, the oldest and the newest.
func TestManyKeys(t *testing.T) {
	e, reason := Read(letter(t, "env-keys", time.Now()))
	if reason != "" {
		t.Fatal(reason)
	}
	mine := keys[alice].Public()
	for _, at := range []int{0, 64, 99} {
		all := make([]signature.Public, 100)
		for i := range all {
			all[i] = keys[eve].Public()
		}
		all[at] = mine
		if got, ok := Signed(e, e.Own(), all); !ok || got != mine {
			t.Errorf("key %d of 100 was not found", at)
		}
	}
}
