package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

func stranger(n int) Contact {
	c := Contact{Instance: address.Instance(fmt.Sprintf("claude:%s:%012x", strings.Repeat("x", 150), n))}
	binary.BigEndian.PutUint32(c.Key[:], uint32(n)+1)
	return c
}

// Strangers who send from ever new names use up no room that a person needs: the oldest first contacts of agents that are not
// registered go first, and what a person said stays.
func TestUnregisteredPinsAreEvictedFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	path := filepath.Join(t.TempDir(), "pins")
	p := OpenPins(path)
	trusted, known, own := address.Instance("claude:me:aaaaaaaaaaaa"), address.Instance("codex:known:bbbbbbbbbbbb"), signature.Public{9}
	p.Registered = func() map[address.Instance]bool { return map[address.Instance]bool{known: true} }
	if err := errors.Join(p.Trust(trusted, own, now), p.Pin(known, own, now)); err != nil {
		t.Fatal(err)
	}
	const group, groups = 5000, 5 // some 6 MB of lines
	for g := range groups {
		var all []Contact
		for n := range group {
			all = append(all, stranger(g*group+n))
		}
		if err := p.PinAll(all, now.Add(time.Duration(g)*time.Second)); err != nil {
			t.Fatalf("group %d: %v", g, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxPins {
		t.Errorf("the file has %d bytes, %v; want at most %d", info.Size(), err, maxPins)
	}
	again := OpenPins(path)
	for _, i := range []address.Instance{trusted, known, stranger(groups*group - 1).Instance} {
		if _, ok := again.Get(i); !ok {
			t.Errorf("%.40s has lost its pin", i)
		}
	}
	if _, ok := again.Get(stranger(0).Instance); ok {
		t.Error("the first stranger still has a pin")
	}
	if err := again.Trust("codex:new:cccccccccccc", own, now); err != nil {
		t.Errorf("trust when the file is full of strangers: %v", err)
	}
}

// Many first contacts are one write, and one that cannot be pinned keeps none of the others from it.
func TestPinAll(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := OpenPins(filepath.Join(t.TempDir(), "pins"))
	one, other := signature.Public{1}, signature.Public{2}
	ana, bob := address.Instance("claude:ana:aaaaaaaaaaaa"), address.Instance("claude:bob:bbbbbbbbbbbb")
	err := p.PinAll([]Contact{{ana, one}, {"claude:ana\u200b:aaaaaaaaaaaa", one}, {ana, one}, {ana, other}, {bob, other}}, now)
	if !errors.Is(err, ErrName) || !errors.Is(err, ErrPinned) {
		t.Errorf("got %v, want the name and the second key refused", err)
	}
	for i, want := range map[address.Instance]signature.Public{ana: one, bob: other} {
		if got, ok := p.Get(i); !ok || got[0] != want {
			t.Errorf("%s has the pin %v, want %v", i, got, want)
		}
	}
}
