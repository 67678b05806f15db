package negotiation

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
	"tutti/internal/test/boundtest"
)

// raw adds an entry of one's own making, as `negotiate event` does.
func (r *rig) raw(by address.Instance, typ, body, more string) error {
	p := fmt.Sprintf(`{"id":"evt-raw","type":%q,"actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":%s,"createdAt":%q%s}`, typ, by, body, envelope.Stamp(r.tick()), more)
	_, err := r.n.Event(r.t.Context(), nego, Act{By: by}, []byte(p), r.now)
	return err
}

// TestRawRefused: entries that change a negotiation are written only by the verb that checks them.
func TestRawRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	hash := hashOf(t, charter("a"))
	for name, e := range map[string][2]string{
		"stabilize": {"event", `{"kind":"stabilizing","artifactHash":"` + hash + `"}`},
		"stabilise": {"event", `{"kind":"stabilized","artifactHash":"` + hash + `"}`},
		"sign":      {"event", signBody(bob, r.keys[bob], hash)},
		"accept":    {"accept", signBody(bob, r.keys[bob], hash)},
		"offer":     {"propose", `{"artifact":` + string(charter("b")) + `}`},
		"counter":   {"counter", `{"artifact":` + string(charter("b")) + `}`},
		"reject":    {"reject", `{}`},
		"withdraw":  {"withdraw", `{}`},
		"expired":   {"event", `{"kind":"expired"}`},
		"abandoned": {"event", `{"kind":"abandoned"}`},
		"escaped":   {"event", `{"\u006bind":"\u0073tabilizing","artifactHash":"` + hash + `"}`},
	} {
		err := r.raw(bob, e[0], e[1], "")
		if refused, is := errors.AsType[*RefusedError](err); !is || !strings.Contains(refused.Hint, "tutti negotiate ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.want(Accepted)
	r.stabilize()
}

// TestLongNames: whatever an entry is called, the next one can be written and an agreement completed.
func TestLongNames(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	for _, length := range []int{envelope.MaxID, envelope.MaxID + 1, 500_000} {
		r := newRig(t)
		r.open()
		r.n.Advise = advice
		r.offer(alice, "a")
		long := strings.Repeat("x", length)
		r.plant(fmt.Appendf(nil, `{"id":%q,"type":"event","actor":{"instance":%q},"body":{"kind":"note"},"createdAt":%q,"correlationId":%q}`, long, bob, envelope.Stamp(r.tick()), long))
		r.sign(alice, bob)
		r.plant(fmt.Appendf(nil, `{"id":%q,"type":"event","actor":{"instance":%q},"body":{"kind":"stabilizing","artifactHash":%q},"createdAt":%q}`, long, bob, hashOf(t, charter("a")), envelope.Stamp(r.tick())))
		res := r.stabilize()
		if len(res.Advisory) != 2 {
			t.Errorf("%d bytes: %d pieces of advice", length, len(res.Advisory))
		}
		r.want(Stabilized)
	}
}

// TestCopiedSignature: anyone can register another agent's public key and copy its signature. The original signature still counts.
func TestCopiedSignature(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	thief := address.Instance("claude:thief:343434343434")
	raw := registry.Build(registry.Agent{Instance: thief, Roles: []string{registry.Conductor}, Scopes: []string{"scope:pilot"}, Root: "/bus", PublicKeys: []string{r.keys[bob].Public().PEM()}}, noon)
	if err := registry.New(r.store).Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf(`["%s","%s","%s"]`, alice, bob, thief)
	r.open("parties="+all, "requiredSigners="+all, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":`+all+`,"threshold":2}`)
	r.offer(alice, "a")
	hash := hashOf(t, charter("a"))
	r.sign(bob)
	o := r.keys[bob].Object(string(thief), signedText(hash))
	r.foreign(thief, "event", fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s}`, hash, envelope.SignatureJSON(o)))
	r.sign(bob) // once more: his stands behind the copy now
	s := r.status()
	if len(s.Signed) != 1 || s.Signed[0].By != bob || len(s.Ignored) != 1 || s.Ignored[0].Code != CodeSameKey {
		t.Errorf("%+v, ignored %+v", s.Signed, s.Ignored)
	}
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
		t.Errorf("one key made a quorum of two: %v", err)
	}
	r.sign(alice)
	r.stabilize()
	r.want(Stabilized)
}

// TestForgedRepetition: a signature that proves nothing takes the place of none, also where its signer seals nothing.
func TestForgedRepetition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	hash := hashOf(t, charter("a"))
	r.foreign(alice, "propose", `{"artifact":`+string(charter("a"))+`}`)
	r.foreignSign(alice, hash)
	r.foreignSign(bob, hash)
	r.foreign(bob, "event", signBody(bob, r.keys[eve], hash))
	r.want(Accepted)
	if v := r.verify(); !strings.Contains(codes(v), "3:invalid") || strings.Contains(codes(v), "3:invalid+") {
		t.Errorf("%s", codes(v))
	}
	r.stabilize()
}

// TestKeysAddedByOthers: keys that others add to a party, in any number, invalidate none of its signatures, before the end and after it.
func TestKeysAddedByOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	people := registry.New(r.store)
	flood := func() {
		for range 40 {
			if err := people.AddKey(t.Context(), bob, signature.Generate().Public().PEM(), nil, r.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.offer(alice, "a")
	r.sign(alice, bob)
	flood()
	r.n = r.fresh()
	r.want(Accepted)
	r.stabilize()
	flood()
	r.want(Stabilized)
	if v := r.verify(); !v.OK() {
		t.Errorf("%s %+v", codes(v), v.Report.Bad)
	}
}

// TestForcedKind: an artifact of another kind than the negotiation's is reported if it was forced, and so is one that no guard has checked.
func TestForcedKind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	mandate := mandateOf("m:1", `["*"]`, "2027-01-01T00:00:00.000Z", eve, "scope:pilot")
	if _, err := r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: mandate}, r.tick()); err == nil {
		t.Error("a mandate was offered where an engagement is due")
	}
	if _, err := r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: mandate, Force: true}, r.tick()); err != nil {
		t.Fatal(err)
	}
	r.foreign(bob, "counter", `{"artifact":{"kind":"ENGAGEMENT"}}`)
	if v := r.verify(); codes(v) != "0:forced+ 1:unbased+ 1:unguarded+" {
		t.Errorf("%s", codes(v))
	}
}

// TestMandateToSelf: no agent can give itself a mandate, or give a mandate for what it does not own.
func TestMandateToSelf(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(boss, registry.Principal)
	lord := address.Instance("claude:lord:565656565656")
	key := signature.Generate()
	r.keys[lord] = key
	raw := registry.Build(registry.Agent{Instance: lord, Roles: []string{registry.Principal}, Scopes: []string{"scope:else"}, Root: "/bus", PublicKeys: []string{key.Public().PEM()}}, noon)
	if err := registry.New(r.store).Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	r.grant(mandateOf("m:self", `["*"]`, "2027-01-01T00:00:00.000Z", boss, "scope:pilot"))
	r.grantBy(lord, mandateOf("m:foreign", `["*"]`, "2027-01-01T00:00:00.000Z", eve, "scope:pilot"))
	r.open()
	for who, id := range map[address.Instance]string{boss: "m:self", eve: "m:foreign"} {
		a := r.act(who)
		a.Mandate = id
		if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("e")}, r.tick()); err == nil || !strings.Contains(err.Error(), "no one but its holder has") {
			t.Errorf("%s: %v", id, err)
		}
		p := fmt.Sprintf(`{"id":"e","type":"reject","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot","mandate":%q},"body":{},"createdAt":%q}`, who, id, envelope.Stamp(r.tick()))
		r.plant([]byte(p))
	}
	r.offer(alice, "a")
	r.sign(alice, bob)
	r.stabilize()
	if v := r.verify(); codes(v) != "0:mandate 1:mandate" {
		t.Errorf("%s", codes(v))
	}
}

func (r *rig) offboard(i address.Instance) {
	r.t.Helper()
	if err := registry.New(r.store).Offboard(r.t.Context(), registry.Tombstone{Instance: i, At: envelope.Stamp(r.tick())}); err != nil {
		r.t.Fatal(err)
	}
	r.n = r.fresh()
}

// TestOffboarded: a retired agent cannot change a negotiation, with a key or without, in any spelling. Its signatures count for what was
// settled before, and for nothing else.
func TestOffboarded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := fmt.Sprintf(`["%s","%s","%s"]`, alice, bob, carol)
	quorum := []string{"parties=" + all, "requiredSigners=" + all, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":` + all + `,"threshold":2}`}
	r.open(quorum...)
	r.offer(alice, "a")
	r.sign(alice, bob)
	r.offboard(bob)
	if s := r.status(); s.State != Proposed || s.More != 1 {
		t.Errorf("%s, %d more to sign, with who was offboarded", s.State, s.More)
	}
	hash := hashOf(t, charter("a"))
	upper := address.Instance("CODEX:Billing:0A1B2C3D4E5F")
	for _, who := range []address.Instance{bob, upper} {
		for _, key := range []*signature.Private{r.keys[bob], nil} {
			a := Act{By: who, Key: key}
			for name, act := range map[string]func() error{
				"offer": func() error {
					_, err := r.n.Counter(t.Context(), nego, a, Offering{Artifact: charter("b"), Base: LatestBase}, r.tick())
					return err
				},
				"sign":   func() error { _, err := r.n.Sign(t.Context(), nego, a, "", r.tick()); return err },
				"reject": func() error { _, err := r.n.Reject(t.Context(), nego, a, "", r.tick()); return err },
				"note": func() error {
					_, err := r.n.Note(t.Context(), nego, a, "event", "CONDUCTOR", []byte(`{"kind":"x"}`), r.tick())
					return err
				},
				"settle":   func() error { _, err := r.n.Stabilize(t.Context(), nego, a, r.tick()); return err },
				"own word": func() error { return r.raw(who, "event", `{"kind":"x"}`, "") },
			} {
				if err := act(); err == nil {
					t.Errorf("%s: %s (sealed: %v) was let through", who, name, key != nil)
				}
			}
		}
	}
	r.now = r.now.Add(time.Hour)
	r.foreign(bob, "counter", `{"artifact":`+string(charter("b"))+`}`)
	r.foreign(bob, "reject", `{}`)
	r.foreignSign(bob, hash)
	r.sign(carol)
	r.stabilize()
	r.offboard(carol)
	r.offboard(alice)
	r.want(Stabilized)
	v := r.verify()
	if s := v.Standing; len(s.Final.Signers) != 2 || s.Final.Hash != hash || v.Artifact != nil {
		t.Errorf("%+v", s.Final)
	}
	if got := codes(v); !strings.Contains(got, "3:gone 4:gone 5:gone") {
		t.Errorf("%s", got)
	}
}

// TestOfferUnderRevokedKey: a revoked key makes no valid offer, not even written directly into the file.
func TestOfferUnderRevokedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(bob, "a")
	r.sign(alice, bob)
	revoke(t, r, bob)
	r.now = r.now.Add(time.Hour)
	sealed := func(at time.Time) []byte {
		p := fmt.Appendf(nil, `{"id":"evt-t","type":"counter","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":{"artifact":%s},"createdAt":%q}`, bob, charter("b"), envelope.Stamp(at))
		out, err := envelope.Sign(p, bob, r.keys[bob])
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	r.plant(sealed(r.tick()))
	s := r.status()
	if s.Latest().Hash != hashOf(t, charter("a")) {
		t.Error("an offer under a revoked key replaced another")
	}
}

// TestSubagents: a subagent is not its parent, and has no part in what its parent is a party of.
func TestSubagents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sub := bob + "~scout"
	people := registry.New(r.store)
	if err := people.Bind(t.Context(), registry.Binding{ID: string(sub), Parent: string(bob), Name: "scout"}); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.offer(alice, "a")
	for _, who := range []address.Instance{sub, bob + "~", bob + "~" + bob, bob + "~scout~scout"} {
		for _, key := range []*signature.Private{r.keys[bob], nil} {
			a := Act{By: who, Key: key}
			if _, err := r.n.Sign(t.Context(), nego, a, "", r.tick()); err == nil {
				t.Errorf("%s has signed", who)
			}
			if _, err := r.n.Counter(t.Context(), nego, a, Offering{Artifact: charter("b"), Base: LatestBase}, r.tick()); err == nil {
				t.Errorf("%s has countered", who)
			}
		}
		hash := hashOf(t, charter("a"))
		r.foreign(who, "event", fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s}`, hash, envelope.SignatureJSON(r.keys[bob].Object(string(bob), signedText(hash)))))
		r.foreign(who, "event", fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s}`, hash, envelope.SignatureJSON(r.keys[bob].Object(string(who), signedText(hash)))))
	}
	if s := r.status(); len(s.Signed) != 0 || s.Total != 1 {
		t.Errorf("%+v", s)
	}
	// As a party of its own it may speak, as long as it is there; it has no key, so that it signs nothing.
	id := "nego:sub"
	rec := fmt.Appendf(nil, `{"id":%q,"scope":"scope:pilot","parties":[%q,%q],"subject":"engagement","requiredSigners":[%q,%q]}`, id, alice, sub, alice, sub)
	if _, err := r.n.Open(t.Context(), rec, Act{}, r.now); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Offer(t.Context(), id, Act{By: sub}, Offering{Artifact: charter("s")}, r.tick()); err != nil {
		t.Error(err)
	}
	if err := people.Note(t.Context(), registry.Audit{Subagent: string(sub), Type: registry.SubRevoked, At: envelope.Stamp(r.tick())}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Counter(t.Context(), id, Act{By: sub}, Offering{Artifact: charter("t"), Base: LatestBase}, r.tick()); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("a subagent that was revoked: %v", err)
	}
}

// TestSpellings: one party in several spellings is one, and what only looks like it is another.
func TestSpellings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := fmt.Sprintf(`["%s","CLAUDE:Ledger:77AA88BB99CC","%s"]`, alice, bob)
	r.open("parties="+all, "requiredSigners="+all, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":["`+string(alice)+`","`+string(bob)+`"],"threshold":2}`)
	r.offer(alice, "a")
	r.sign(alice)
	if _, err := r.n.Sign(t.Context(), nego, Act{By: "CLAUDE:Ledger:77AA88BB99CC", Key: r.keys[alice]}, "", r.tick()); err != nil {
		t.Error(err)
	}
	if s := r.status(); len(s.Signed) != 1 || s.More != 1 {
		t.Errorf("%d have signed, %d more", len(s.Signed), s.More)
	}
	for _, who := range []address.Instance{"claude:ledger:77aa88bb99cc.", "claude:ledger.:77aa88bb99cc.", "claude:ledger:77aa88bb99cc ", "clаude:ledger:77aa88bb99cc", "claude:ledger", "ledger"} {
		if _, err := r.n.Counter(t.Context(), nego, Act{By: who}, Offering{Artifact: charter("b"), Base: LatestBase}, r.tick()); err == nil {
			t.Errorf("%q was taken for %s", who, alice)
		}
	}
}

// TestAnotherKey: registering a name again, in any spelling, does not take it over. An added key counts from then on.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice)
	other := signature.Generate()
	for _, i := range []address.Instance{bob, "CODEX:Billing:0A1B2C3D4E5F"} {
		raw := registry.Build(registry.Agent{Instance: i, Roles: []string{registry.Conductor}, Scopes: []string{"scope:pilot"}, Root: "/bus", PublicKeys: []string{other.Public().PEM()}}, r.now)
		if _, err := r.store.Append(t.Context(), store.Key{Kind: store.Instances}, store.AnyEnd, raw); err != nil {
			t.Fatal(err)
		}
	}
	r.n = r.fresh()
	for _, i := range []address.Instance{bob, "CODEX:Billing:0A1B2C3D4E5F"} {
		if _, err := r.n.Sign(t.Context(), nego, Act{By: i, Key: other}, "", r.tick()); err == nil {
			t.Errorf("%s has signed with the key of another registration", i)
		}
	}
	if err := registry.New(r.store).AddKey(t.Context(), bob, other.Public().PEM(), nil, r.now); err != nil {
		t.Fatal(err)
	}
	r.n = r.fresh()
	r.sign(bob)
	if _, err := r.n.Sign(t.Context(), nego, Act{By: bob, Key: other}, "", r.tick()); err != nil {
		t.Fatal(err)
	}
	if s := r.status(); len(s.Signed) != 2 {
		t.Errorf("%d have signed", len(s.Signed))
	}
}
