package negotiation

import (
	"testing"

	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
)

// TestEarly verifies signatures before their turn, under the keys that an instance may have by then.
func TestEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice)
	p, err := r.n.look(t.Context(), nego, r.now)
	if err != nil {
		t.Fatal(err)
	}
	s := p.f.signed[0]
	e, err := r.n.journals.Entry(t.Context(), nego, s.At)
	if err != nil {
		t.Fatal(err)
	}
	own, other := r.keys[alice].Public(), signature.Generate().Public()
	many := []signature.Public{other, other, other, other, own}
	for _, c := range []struct {
		name         string
		early, later []signature.Public
		at           int
		bound        bool
	}{
		{"one key", []signature.Public{own}, []signature.Public{own}, 0, true},
		{"the second one", []signature.Public{other, own}, []signature.Public{other, own}, 1, true},
		{"none", []signature.Public{other}, []signature.Public{other}, -1, false},
		{"another key by then", []signature.Public{own}, []signature.Public{other}, -1, true},
		{"one more by then", []signature.Public{other}, []signature.Public{other, own}, 1, false},
		{"too many", many, many, 4, false},
		{"no key", nil, nil, -1, false},
	} {
		known, _ := p.f.beside()(e)(journal.Keys{Active: c.early}).(*early)
		if got := known.underOne(&s, c.later); got != c.at {
			t.Errorf("%s: made with key %d, want %d", c.name, got, c.at)
		}
		if got := known.bound(p.f.record.Scope); got != c.bound {
			t.Errorf("%s: bound %v, want %v", c.name, got, c.bound)
		}
		if known.bound("scope:other") {
			t.Errorf("%s: bound to another scope", c.name)
		}
	}
	// What was found early is not looked for again: a lie is believed.
	lie := &early{tried: []signature.Public{other}, signed: true}
	if got := lie.underOne(&s, []signature.Public{other}); got != 0 {
		t.Errorf("verified again: key %d", got)
	}
}

// TestEarlyVain ends the verifying before its turn when most of it is for nothing.
func TestEarlyVain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice)
	p, err := r.n.look(t.Context(), nego, r.now)
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.n.journals.Entry(t.Context(), nego, p.f.signed[0].At)
	if err != nil {
		t.Fatal(err)
	}
	bad := journal.Keys{Active: []signature.Public{signature.Generate().Public()}}
	beside := p.f.beside()
	n := 0
	for beside(e)(bad) != nil {
		if n++; n > 2*maxVain {
			t.Fatal("it goes on for ever")
		}
	}
	if n <= maxVain/2 {
		t.Errorf("after %d already", n)
	}
}
