package negotiation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// TestAgreement goes through a negotiation from its beginning to its end.
func TestAgreement(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(testing.TB) *rig{"memory": newRig, "files": filesRig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := make(t)
			r.open()
			r.want(Draft)
			if e := r.offer(alice, "first"); e.Sequence != 0 || e.Type != "propose" {
				t.Errorf("the offer is entry %d, a %s", e.Sequence, e.Type)
			}
			r.want(Proposed)
			r.counter(bob, "second")
			r.want(Countered)
			r.sign(alice)
			if s := r.status(); len(s.Signed) != 1 || len(s.Must) != 1 || s.Must[0] != bob || len(s.Next) != 1 || !strings.Contains(s.Next[0].Command, "tutti negotiate accept "+nego) {
				t.Errorf("%+v", s)
			}
			if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) || !strings.Contains(err.Error(), string(bob)) {
				t.Errorf("stabilised without a signature: %v", err)
			}
			r.sign(bob)
			r.want(Accepted)
			res := r.stabilize()
			if res.ArtifactHash != hashOf(t, charter("second")) || res.Path != "engagements/eng__pilot-1/charter.json" || res.Record.Status != Stabilized {
				t.Errorf("%+v", res)
			}
			r.want(Stabilized)
			if v := r.verify(); !v.OK() || codes(v) != "" || v.Report.Linked != v.Report.Entries {
				t.Errorf("%s, %+v, %v, %v", codes(v), v.Report, v.Problems, v.Artifact)
			}
			doc, err := r.store.Get(t.Context(), ArtifactKey(charter("second"), res.ArtifactHash))
			if err != nil || string(doc.Data) != string(canonjson.Indent(charter("second")))+"\n" {
				t.Errorf("%s, %v", doc.Data, err)
			}
			if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrStabilized) {
				t.Errorf("stabilised twice: %v", err)
			}
			if _, err := r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: charter("x"), Base: LatestBase}, r.tick()); !errors.Is(err, ErrStabilized) {
				t.Errorf("offered after the end: %v", err)
			}
		})
	}
}

// TestMachine runs each event in each state that can be brought about, and compares with the table.
func TestMachine(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	reach := map[State]func(r *rig){
		Draft:      func(*rig) {},
		Proposed:   func(r *rig) { r.offer(alice, "a") },
		Countered:  func(r *rig) { r.offer(alice, "a"); r.counter(alice, "b") },
		Accepted:   func(r *rig) { r.offer(alice, "a"); r.sign(alice, bob) },
		Rejected:   func(r *rig) { r.offer(alice, "a"); r.n.Reject(ctx, nego, r.act(bob), "no", r.tick()) },
		Withdrawn:  func(r *rig) { r.offer(alice, "a"); r.n.Withdraw(ctx, nego, r.act(alice), "", r.tick()) },
		Abandoned:  func(r *rig) { r.n.Move(ctx, nego, r.act(alice), Abandoned, "", r.tick()) },
		Expired:    func(r *rig) { r.now = noon.Add(2 * time.Hour) },
		Stabilized: func(r *rig) { r.offer(alice, "a"); r.sign(alice, bob); r.stabilize() },
	}
	do := map[Event]func(r *rig) error{
		Offer: func(r *rig) error {
			_, err := r.n.Offer(ctx, nego, r.act(alice), Offering{Artifact: charter("n"), Base: LatestBase}, r.tick())
			return err
		},
		Counter: func(r *rig) error {
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: charter("n"), Base: LatestBase}, r.tick())
			return err
		},
		Accept:   func(r *rig) error { _, err := r.n.Accept(ctx, nego, r.act(alice), "", r.tick()); return err },
		Reject:   func(r *rig) error { _, err := r.n.Reject(ctx, nego, r.act(alice), "", r.tick()); return err },
		Withdraw: func(r *rig) error { _, err := r.n.Withdraw(ctx, nego, r.act(alice), "", r.tick()); return err },
		Abandon:  func(r *rig) error { _, err := r.n.Move(ctx, nego, r.act(alice), Abandoned, "", r.tick()); return err },
	}
	for from, get := range reach {
		for ev, act := range do {
			t.Run(string(from)+" "+string(ev), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.open(`deadline="2026-06-12T13:30:00.000Z"`)
				get(r)
				r.want(from)
				_, allowed := Next(from, ev)
				if err := act(r); (err == nil) != allowed {
					t.Errorf("%s in the state %s: %v, want allowed %v", ev, from, err, allowed)
				}
			})
		}
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-12T13:00:00.000Z"`)
	r.offer(alice, "a")
	if _, err := r.n.Move(t.Context(), nego, r.act(bob), Expired, "", r.tick()); err == nil {
		t.Error("expired before its deadline")
	}
	r.now = noon.Add(time.Hour)
	r.want(Proposed)
	r.tick()
	r.want(Expired)
	if _, err := r.n.Sign(t.Context(), nego, r.act(bob), "", r.now); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("signed after the deadline: %v", err)
	}
	if _, err := r.n.Move(t.Context(), nego, r.act(bob), Expired, "", r.now); err != nil {
		t.Error(err)
	}
	if s := r.status(); s.State != Expired || s.Record.Status != Expired || !strings.Contains(s.Why, "entry 1") {
		t.Errorf("%+v", s)
	}
	if v := r.verify(); !v.OK() {
		t.Errorf("%s %v", codes(v), v.Problems)
	}
}

// TestStabilizeAfterTheDeadline: an artifact that all have signed in time can be stabilised later.
func TestStabilizeAfterTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-12T13:00:00.000Z"`)
	r.offer(alice, "a")
	r.sign(alice, bob)
	r.now = noon.Add(2 * time.Hour)
	r.want(Accepted)
	r.stabilize()
	r.want(Stabilized)
}

func TestStale(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	first := hashOf(t, charter("a"))
	r.offer(alice, "a")
	r.counter(bob, "b")
	second := hashOf(t, charter("b"))
	for _, base := range []string{"", first, "sha256:x"} {
		_, err := r.n.Counter(t.Context(), nego, r.act(alice), Offering{Artifact: charter("c"), Base: base}, r.tick())
		stale, ok := errors.AsType[*StaleError](err)
		if !ok || stale.Latest.Hash != second || !strings.Contains(err.Error(), "`tutti negotiate counter "+nego+" FILE --instance "+string(stale.By)+" --base "+second+"`") {
			t.Errorf("base %q: %v", base, err)
		}
	}
	if _, err := r.n.Counter(t.Context(), nego, r.act(alice), Offering{Artifact: charter("c"), Base: second}, r.tick()); err != nil {
		t.Error(err)
	}
	if _, err := r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: canonjson.Set(charter("d"), "baseArtifactHash", []byte(`"`+hashOf(t, charter("c"))+`"`))}, r.tick()); err != nil {
		t.Errorf("the base that the artifact names: %v", err)
	}
	if v := r.verify(); !v.OK() || codes(v) != "" {
		t.Errorf("%s", codes(v))
	}
}

// TestRefused: acts by agents that may not do them.
func TestRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	stranger := signature.Generate()
	tests := []struct {
		name string
		do   func(r *rig) error
		want string
	}{
		{"offer by a stranger", func(r *rig) error {
			_, err := r.n.Offer(ctx, nego, r.act(eve), Offering{Artifact: charter("x"), Base: LatestBase}, r.tick())
			return err
		}, "is not a party"},
		{"sign by a stranger", func(r *rig) error { _, err := r.n.Sign(ctx, nego, r.act(eve), "", r.tick()); return err }, "is not a party"},
		{"sign with the key of another", func(r *rig) error {
			_, err := r.n.Sign(ctx, nego, Act{By: alice, Key: r.keys[bob]}, "", r.tick())
			return err
		}, "does not belong to"},
		{"sign with an unknown key", func(r *rig) error {
			_, err := r.n.Sign(ctx, nego, Act{By: alice, Key: stranger}, "", r.tick())
			return err
		}, "does not belong to"},
		{"sign without a key", func(r *rig) error { _, err := r.n.Sign(ctx, nego, Act{By: alice}, "", r.tick()); return err }, "no private key"},
		{"unsealed after sealed", func(r *rig) error {
			_, err := r.n.Reject(ctx, nego, Act{By: alice}, "", r.tick())
			return err
		}, "sealed its earlier entries"},
		{"sign an artifact that was not offered", func(r *rig) error {
			_, err := r.n.Sign(ctx, nego, r.act(alice), hashOf(t, charter("z")), r.tick())
			return err
		}, "no offer/counter event matches"},
		{"sign a superseded offer", func(r *rig) error {
			r.counter(bob, "b")
			_, err := r.n.Sign(ctx, nego, r.act(alice), hashOf(t, charter("a")), r.tick())
			return err
		}, "was superseded"},
		{"withdraw the offer of another", func(r *rig) error { _, err := r.n.Withdraw(ctx, nego, r.act(bob), "", r.tick()); return err }, "tutti negotiate reject"},
		{"set to stabilized", func(r *rig) error {
			_, err := r.n.Move(ctx, nego, r.act(bob), Stabilized, "", r.tick())
			return err
		}, "tutti negotiate stabilize"},
		{"set to accepted", func(r *rig) error { _, err := r.n.Move(ctx, nego, r.act(bob), Accepted, "", r.tick()); return err }, "is not set"},
		{"a malformed artifact", func(r *rig) error {
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: []byte(`{"kind":"ENGAGEMENT","id":"x"}`), Base: LatestBase}, r.tick())
			return err
		}, "--force"},
		{"an artifact of another kind", func(r *rig) error {
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: []byte(`{"kind":"POLICY","id":"p","scope":"s","rule":"r","sourceAuthority":"a","adoptionMode":"ratified"}`), Base: LatestBase}, r.tick())
			return err
		}, "is a POLICY"},
		{"an artifact that is two things", func(r *rig) error {
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: canonjson.Set(charter("x"), "rule", []byte(`"r"`)), Base: LatestBase}, r.tick())
			return err
		}, "rule"},
		{"an artifact with __proto__", func(r *rig) error {
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: canonjson.Set(charter("x"), "__proto__", []byte(`1`)), Base: LatestBase, Force: true}, r.tick())
			return err
		}, "__proto__"},
		{"a raw event with a frame", func(r *rig) error {
			_, err := r.n.Event(ctx, nego, r.act(bob), []byte(`{"sequence":9,"id":"x","type":"event","actor":{"instance":"`+string(bob)+`","role":"CONDUCTOR","scope":"s"},"body":{},"createdAt":"2026-06-12T12:00:00.000Z"}`), r.tick())
			return err
		}, "frame"},
		{"an unknown negotiation", func(r *rig) error { _, err := r.n.Sign(ctx, "nego:none", r.act(bob), "", r.tick()); return err }, "not found"},
		{"open again", func(r *rig) error { _, err := r.n.Open(ctx, record(), Act{}, r.now); return err }, "already open"},
		{"what a profile forbids", func(r *rig) error {
			r.n.Gate = func(Event, *Record, []byte) []string { return []string{"the profile forbids it"} }
			_, err := r.n.Counter(ctx, nego, r.act(bob), Offering{Artifact: charter("x"), Base: LatestBase, Force: true}, r.tick())
			return err
		}, "the profile forbids it"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.open()
			r.offer(alice, "a")
			if err := c.do(r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if v := r.verify(); !v.OK() || codes(v) != "" {
				t.Errorf("something was written: %s", codes(v))
			}
		})
	}
}

func TestForced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	bad := []byte(`{"kind":"ENGAGEMENT","id":"eng:x"}`)
	e, err := r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: bad, Force: true}, r.tick())
	if err != nil || e.Member("forced") == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	if v := r.verify(); codes(v) != "0:forced+" || !v.OK() {
		t.Errorf("%s", codes(v))
	}
}

func TestOpenChecks(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`id=""`:                               "id:",
		`scope=1`:                             "scope:",
		`parties=[]`:                          "parties:",
		`subject="x"`:                         "subject:",
		`status="x"`:                          "unknown state",
		`status="stabilized"`:                 "is an end",
		`requiredSigners=[]`:                  "requiredSigners:",
		`deadline="x"`:                        "deadline:",
		`deadline="2026-06-12T11:00:00.000Z"`: "has passed",
		`baseArtifactHash="x"`:                "baseArtifactHash:",
		`authority={"kind":"AUTHORITY","id":"a","authorityKind":"quorum","members":["a"],"threshold":2}`:                                                 "authority:",
		`authority={"kind":"AUTHORITY","id":"a","authorityKind":"instance","members":["a"]}`:                                                             "quorum",
		`authority={"kind":"AUTHORITY","id":"a","authorityKind":"quorum","members":["claude:api:3f2a9c01b7de","Claude:API:3F2A9C01B7DE"],"threshold":2}`: `"claude:api:3f2a9c01b7de" and "Claude:API:3F2A9C01B7DE" are one agent`,
	}
	for change, want := range tests {
		r := newRig(t)
		if _, err := r.n.Open(t.Context(), record(change), Act{}, r.now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

// TestRepeatedMember reads a record of another program whose quorum names one agent in two spellings: it is readable, and nothing completes it.
func TestRepeatedMember(t *testing.T) {
	t.Parallel()
	twice := `["` + string(alice) + `","` + strings.ToUpper(string(alice)) + `"]`
	r, err := ParseRecord(record(`authority={"kind":"AUTHORITY","id":"a","authorityKind":"quorum","members":` + twice + `,"threshold":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Quorum.Members) != 1 || r.Complete(append(r.RequiredSigners, alice)) {
		t.Errorf("members %v: one signature counted twice", r.Quorum.Members)
	}
}

// TestQuorum: lets three of five sign, one of them required.
func TestQuorum(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var members []address.Instance
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		i := address.Instance("codex:m" + n + ":0a1b2c3d4e5" + n)
		members = append(members, i)
		r.register(i, registry.Conductor)
	}
	all := `["` + strings.Join(address.Texts(members), `","`) + `"]`
	r.open(`requiredSigners=["`+string(alice)+`"]`, `authority={"kind":"AUTHORITY","id":"auth:five","authorityKind":"quorum","members":`+all+`,"threshold":3}`)
	r.offer(alice, "a")
	r.sign(members[0], members[1])
	if s := r.status(); s.More != 1 || len(s.Of) != 3 || len(s.Must) != 1 {
		t.Errorf("%+v", s)
	}
	r.sign(alice)
	r.want(Proposed)
	if _, err := r.n.Reject(t.Context(), nego, r.act(members[3]), "", r.tick()); err != nil {
		t.Error(err)
	}
	r.want(Proposed) // three of the others can still agree
	if _, err := r.n.Move(t.Context(), nego, r.act(members[3]), Abandoned, "", r.tick()); err == nil {
		t.Error("one of five ends it for all")
	}
	r.sign(members[4])
	r.want(Accepted)
	if res := r.stabilize(); len(res.Signers) != 4 {
		t.Errorf("signers %v", res.Signers)
	}
	if v := r.verify(); !v.OK() {
		t.Errorf("%s %v", codes(v), v.Problems)
	}
}

func TestQuorumRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`authority={"kind":"AUTHORITY","id":"a","authorityKind":"quorum","members":["` + string(alice) + `","` + string(bob) + `","` + string(carol) + `"],"threshold":2}`)
	r.offer(alice, "a")
	for n, i := range []address.Instance{bob, carol} {
		r.want(Proposed)
		if _, err := r.n.Reject(t.Context(), nego, r.act(i), "", r.tick()); err != nil {
			t.Fatal(n, err)
		}
	}
	r.want(Rejected)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	worker := address.Instance("codex:worker:0a1b2c3d4e51")
	r.register(worker, registry.Agents)
	r.open(`requiredSigners=["` + string(worker) + `"]`)
	r.offer(alice, "a")
	if _, err := r.n.Sign(t.Context(), nego, r.act(worker), "", r.tick()); err == nil || !strings.Contains(err.Error(), "is signed by") {
		t.Error(err)
	}
	r.foreignSign(worker, hashOf(t, charter("a")))
	if v := r.verify(); codes(v) != "1:role" {
		t.Error(codes(v))
	}
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) || !strings.Contains(err.Error(), "role") {
		t.Error(err)
	}
}

// TestMandate: lets an agent act that is not a party.
func TestMandate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(boss, registry.Principal)
	lay := func(id, rights, expires string, of address.Instance, scope string) {
		r.grant(mandateOf(id, rights, expires, of, scope))
	}
	lay("m:good", `["negotiate"]`, "2026-06-12T13:00:00.000Z", eve, "scope:pilot")
	lay("m:sign", `["sign"]`, "2026-06-12T13:00:00.000Z", eve, "scope:pilot")
	lay("m:old", `["negotiate"]`, "2026-06-12T11:00:00.000Z", eve, "scope:pilot")
	lay("m:other", `["negotiate"]`, "2026-06-12T13:00:00.000Z", carol, "scope:pilot")
	lay("m:scope", `["*"]`, "2026-06-12T13:00:00.000Z", eve, "scope:else")
	r.open()
	for id, want := range map[string]string{
		"m:none": "not among", "m:sign": `the right "offer"`, "m:old": "has expired", "m:other": "is of " + string(carol), "m:scope": "is for scope:else",
	} {
		a := r.act(eve)
		a.Mandate = id
		if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("a")}, r.tick()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	a := r.act(eve)
	a.Mandate = "m:good"
	if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("a")}, r.tick()); err != nil {
		t.Error(err)
	}
	r.want(Proposed)
	r.now = noon.Add(2 * time.Hour)
	if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("b"), Base: LatestBase}, r.tick()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	if v := r.verify(); !v.OK() {
		t.Errorf("%s: a mandate that has expired since held when it was used", codes(v))
	}
}
