package trust

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

const (
	lead = address.Instance("claude:lead:3f2a9c01b7de")
	boss = address.Instance("claude:boss:4f2a9c01b7de")
)

func registered(t *testing.T, i address.Instance, roles ...string) *registry.Registration {
	t.Helper()
	reg, err := registry.Parse(registry.Build(registry.Agent{Instance: i, Roles: roles}, time.Unix(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestRolesOf: an agent's own claim gives it no role.
func TestRolesOf(t *testing.T) {
	now := time.Now()
	pins := OpenPins(filepath.Join(t.TempDir(), "pins"))
	own := registered(t, lead, registry.Conductor, registry.Agents)
	borrowed := registered(t, boss, registry.Conductor) // boss is whom the user knows; lead is looked up by a line with its name
	if err := pins.AcceptRegistration(boss, borrowed.Hash(), now); err != nil {
		t.Fatal(err)
	}
	check := func(what string, reg *registry.Registration, pins Memory, count, claimed []string, accepted bool) {
		t.Helper()
		r := RolesOf(lead, reg, pins)
		if !slices.Equal(r.Count, count) || !slices.Equal(r.Claimed, claimed) || r.Accepted != accepted {
			t.Errorf("%s: %+v", what, r)
		}
	}
	both := []string{registry.Conductor, registry.Agents}
	check("no pins", own, nil, both, nil, true)
	check("pins without roles", own, metOnly{}, []string{registry.Agents}, []string{registry.Conductor}, false)
	check("not accepted", own, pins, []string{registry.Agents}, []string{registry.Conductor}, false)
	check("the registration of another agent", borrowed, pins, nil, []string{registry.Conductor}, false)
	if err := pins.AcceptRegistration(lead, own.Hash(), now); err != nil {
		t.Fatal(err)
	}
	check("accepted", own, pins, both, nil, true)
	check("as the keys that were ever pinned", own, pins.Ever(), both, nil, true)
	more := registered(t, lead, registry.Principal, registry.Conductor)
	check("another line", more, pins, nil, []string{registry.Principal, registry.Conductor}, false)
	if err := pins.GiveRole(lead, signature.Generate().Public(), registry.Conductor, now); err != nil {
		t.Fatal(err)
	}
	check("one of them given", more, pins, []string{registry.Conductor}, []string{registry.Principal}, false)
	check("accepted still", own, pins, both, nil, true)
	if was, err := pins.Forget(lead, now); err != nil || !was {
		t.Fatal(was, err)
	}
	check("forgotten", own, pins, []string{registry.Agents}, []string{registry.Conductor}, false)
}

// metOnly is a memory without roles.
type metOnly struct{}

func (metOnly) Get(address.Instance) ([]signature.Public, bool) { return nil, false }
func (metOnly) Err() error                                      { return nil }

// TestAcceptRegistration: accepting a registration pins no key. It survives many strangers, and a file that is written again.
func TestAcceptRegistration(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "pins")
	pins := OpenPins(path)
	hash := registered(t, lead, registry.Conductor).Hash()
	for range 2 { // twice, which changes nothing
		if err := pins.AcceptRegistration(lead, hash, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := pins.AcceptRegistration("claude:lead\u200b:3f2a9c01b7de", hash, now); err == nil {
		t.Error("a name that looks like another one was accepted")
	}
	if _, ok := pins.Get(lead); ok || len(pins.All()) != 0 || len(pins.Bound(lead)) != 0 {
		t.Error("it pins a key")
	}
	for g := range 5 {
		var all []Contact
		for n := range 5000 {
			all = append(all, stranger(g*5000+n))
		}
		if err := pins.PinAll(all, now); err != nil {
			t.Fatal(err)
		}
	}
	again := OpenPins(path)
	if !again.Accepted(lead, hash) || again.Accepted(lead, "") || again.Accepted(boss, hash) || again.Damaged() != nil {
		t.Errorf("accepted: %v, damaged: %v", again.Accepted(lead, hash), again.Damaged())
	}
	if n := len(again.All()); n == 25_000 || n == 0 {
		t.Errorf("%d pins: the file was not written anew", n)
	}
}
