package agreement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store/memstore"
)

// TestProfileOfTheOpening: the profile with which a negotiation was opened holds, whatever the bus chooses afterwards, and also when
// state.json is gone.
func TestProfileOfTheOpening(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{})
	people := registry.New(s)
	keys := map[address.Instance]*signature.Private{}
	for n, role := range []string{"CONDUCTOR", "PRINCIPAL", "EXECUTIF", "AGENTS", "CONTROL"} {
		i := address.Instance(fmt.Sprintf("claude:a%d:%012d", n, n))
		keys[i] = signature.Generate()
		raw := registry.Build(registry.Agent{Instance: i, Roles: []string{role}, Scopes: []string{"scope:x"}, Root: "/bus", PublicKeys: []string{keys[i].Public().PEM()}}, now)
		if err := people.Register(ctx, raw); err != nil {
			t.Fatal(err)
		}
	}
	who := address.Instance("claude:a0:000000000000")
	b := New(s, people)
	record := func(id, more string) []byte {
		return fmt.Appendf(nil, `{"id":%q,"scope":"scope:x","parties":[%q],"subject":"engagement","requiredSigners":[%q]%s}`, id, who, who, more)
	}
	use := func(id string) {
		t.Helper()
		if _, err := profile.Use(ctx, s, id, "me", now); err != nil {
			t.Fatal(err)
		}
	}
	use("D_SAFE")
	for _, p := range []string{"none", "B_ECOSYSTEM", "Z"} {
		if _, err := b.Open(ctx, record("n:other", `,"profile":"`+p+`"`), negotiation.Act{By: who}, now); err == nil {
			t.Errorf("opened under %s", p)
		}
	}
	if _, err := b.Open(ctx, record("n:1", ""), negotiation.Act{By: who}, now); err != nil {
		t.Fatal(err)
	}
	yearly := `{"kind":"ENGAGEMENT","id":"e","scope":"scope:x","charter":{},"roleBindings":[],"controls":[],"policies":[],"successCriteria":["x"],"obligations":[{"cadence":"%s"}]}`
	offer := func(id, cadence string) error {
		n, err := b.For(ctx, profile.Offer, who)
		if err == nil {
			_, err = n.Offer(ctx, id, negotiation.Act{By: who, Key: keys[who]}, negotiation.Offering{Artifact: fmt.Appendf(nil, yearly, cadence), Base: negotiation.LatestBase, Force: true}, now)
		}
		return err
	}
	refused := func(err error) bool {
		_, is := errors.AsType[*negotiation.RefusedError](err)
		return is && strings.Contains(err.Error(), "D_SAFE")
	}
	use(profile.None)
	if err := offer("n:1", "yearly"); !refused(err) {
		t.Errorf("another choice of the bus has changed a negotiation: %v", err)
	}
	if err := offer("n:1", "weekly"); err != nil {
		t.Error(err)
	}
	if _, err := b.Open(ctx, record("n:2", ""), negotiation.Act{By: who}, now); err != nil {
		t.Fatal(err)
	}
	use("D_SAFE")
	if err := offer("n:2", "yearly"); err != nil {
		t.Errorf("a negotiation that was opened without a profile: %v", err)
	}
}
