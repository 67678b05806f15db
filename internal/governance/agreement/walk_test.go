package agreement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store/memstore"
)

// TestEachProfile: under each profile, each kind of agreement is opened, offered, signed by one agent in each role of the profile
// that may sign it, stabilised, and still valid for a reader.
func TestEachProfile(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)
	for _, p := range profile.All() {
		for _, subject := range []string{"contract", "policy", "engagement", "amendment"} {
			t.Run(p.ID+"/"+subject, func(t *testing.T) {
				t.Parallel()
				s := memstore.New(memstore.Options{})
				people := registry.New(s)
				keys := map[address.Instance]*signature.Private{}
				kind := declaration.KindFor(subject)
				var signers []string
				for n, role := range p.Roles {
					i := address.Instance(fmt.Sprintf("claude:%s:%012d", strings.ToLower(role), n))
					keys[i] = signature.Generate()
					raw := registry.Build(registry.Agent{Instance: i, Roles: []string{role}, Scopes: []string{"scope:x"}, Root: "/bus", PublicKeys: []string{keys[i].Public().PEM()}}, now)
					if err := people.Register(ctx, raw); err != nil {
						t.Fatal(err)
					}
					if declaration.MaySign(kind, role) {
						signers = append(signers, string(i))
					}
				}
				if _, err := profile.Use(ctx, s, p.ID, "me", now); err != nil {
					t.Fatal(err)
				}
				b := New(s, people)
				list := canonjson.Compact([]byte(`["` + strings.Join(signers, `","`) + `"]`))
				first := address.Instance(signers[0])
				record := fmt.Appendf(nil, `{"id":"n:1","scope":"scope:x","parties":%s,"subject":%q,"requiredSigners":%s}`, list, subject, list)
				if _, err := b.Open(ctx, record, negotiation.Act{By: first, Key: keys[first]}, now); err != nil {
					t.Fatal(err)
				}
				step := func(step profile.Step, by address.Instance) *negotiation.Negotiations {
					t.Helper()
					n, err := b.For(ctx, step, by)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
				artifact := []byte(strings.NewReplacer("scope:default", "scope:x", `"adoptionMode": "ratified"`, `"adoptionMode": "`+p.Adoption[0]+`"`).Replace(declaration.Example(kind)))
				offering := negotiation.Offering{Artifact: artifact, Force: true}
				if _, err := step(profile.Offer, first).Offer(ctx, "n:1", negotiation.Act{By: first, Key: keys[first]}, offering, now); err != nil {
					t.Fatal(err)
				}
				v, err := b.View(ctx, "n:1")
				if err != nil {
					t.Fatal(err)
				}
				for _, who := range signers {
					a := negotiation.Act{By: address.Instance(who), Key: keys[address.Instance(who)]}
					if b.attests(ctx, who) {
						c, err := b.Attest(ctx, a, Attesting{Dossier: v.DossierHash, At: "2026-06-12T11:00:00.000Z", Created: now})
						if err == nil {
							_, err = c.Journal(ctx, "n:1", now)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					if _, err := step(profile.Sign, a.By).Sign(ctx, "n:1", a, "", now); err != nil {
						t.Errorf("%s: %v", who, err)
					}
				}
				if _, err := step(profile.Stabilise, first).Stabilize(ctx, "n:1", negotiation.Act{By: first, Key: keys[first]}, now); err != nil {
					t.Fatal(err)
				}
				if st, err := b.Negotiations().Status(ctx, "n:1", now); err != nil || st.State != negotiation.Stabilized {
					t.Errorf("a reader: %+v, %v", st, err)
				}
			})
		}
	}
}
