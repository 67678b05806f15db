package negotiation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

// TestUnsignedMandate: puts an unsigned mandate among the artifacts.
func TestUnsignedMandate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	raw := mandateOf("m:planted", `["*"]`, "2027-01-01T00:00:00.000Z", eve, "scope:pilot")
	if _, err := r.store.Create(t.Context(), ArtifactKey(raw, hashOf(t, raw)), raw); err != nil {
		t.Fatal(err)
	}
	a := r.act(eve)
	a.Mandate = "m:planted"
	if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("e")}, r.tick()); err == nil || !strings.Contains(err.Error(), "not among") {
		t.Errorf("an ungranted mandate: %v", err)
	}
	// A record that says so proves nothing either.
	id := "nego:m-planted"
	rec := fmt.Appendf(nil, `{"id":%q,"scope":"scope:pilot","parties":[%q],"subject":"contract","status":"stabilized","requiredSigners":[%q],"currentArtifactHash":%q}`, id, eve, eve, hashOf(t, raw))
	if _, err := r.store.Create(t.Context(), stateKey(id), rec); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Offer(t.Context(), nego, a, Offering{Artifact: charter("e")}, r.tick()); err == nil || !strings.Contains(err.Error(), "not among") {
		t.Errorf("an unsigned mandate: %v", err)
	}
	r.foreignAt(eve, "propose", `{"artifact":`+string(charter("e"))+`}`, r.tick(), "")
	p := fmt.Sprintf(`{"id":"e","type":"propose","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot","mandate":"m:planted"},"body":{"artifact":%s},"createdAt":%q}`, eve, charter("e"), envelope.Stamp(r.tick()))
	r.plant([]byte(p))
	if v := r.verify(); codes(v) != "0:non-party 1:mandate" {
		t.Errorf("%s", codes(v))
	}
}

// TestAdviceForged writes an entry with the name that the advice of a stabilisation will have.
func TestAdviceForged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	advice := []byte(`{"kind":"postureConflit","subject":"x"}`)
	r.n.Advise = func(context.Context, Material) ([][]byte, error) { return nil, errors.New("interrupted") }
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); err == nil {
		t.Fatal("not interrupted")
	}
	r.n.Advise = func(context.Context, Material) ([][]byte, error) { return [][]byte{advice}, nil }
	intent := r.status().Final.Intent
	p := fmt.Sprintf(`{"id":%q,"type":"event","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":{"kind":"note"},"createdAt":%q}`, intent+"-advice-1", bob, envelope.Stamp(r.tick()))
	r.plant([]byte(p))
	res := r.stabilize()
	if n := count(t, r.store, bodyEscalation); n != 1 || len(res.Advisory) != 1 || res.Advisory[0].Sequence != 5 {
		t.Errorf("%d pieces of advice, %+v", n, res.Advisory)
	}
}

// TestImitatedEvents adds entries of one's own making that look like ours.
func TestImitatedEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	event := func(by address.Instance, key *signature.Private, more string) error {
		p := fmt.Sprintf(`{"id":"evt-x","type":"event","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":{"kind":"x"},"createdAt":%q%s}`, by, envelope.Stamp(r.tick()), more)
		_, err := r.n.Event(t.Context(), nego, Act{By: by, Key: key}, []byte(p), r.now)
		return err
	}
	for name, err := range map[string]error{
		"terms":               event(eve, nil, `,"terms":{"id":"nego:pilot-1","parties":["`+string(eve)+`"]}`),
		"forced":              event(eve, nil, `,"forced":["all is well"]`),
		"key of another":      event(bob, r.keys[eve], ""),
		"of an unknown agent": event("claude:ghost:000000000000", signature.Generate(), ""),
		"false signature":     event(bob, nil, `,"signatures":[{"by":"`+string(bob)+`","alg":"ed25519","value":"`+r.keys[eve].Object("x", []byte("x")).Value+`"}]`),
	} {
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	revoke(t, r, carol)
	if err := event(carol, r.keys[carol], ""); err == nil {
		t.Error("an entry was sealed with a revoked key")
	}
	r.offer(alice, "a")
	r.sign(alice, bob)
	r.stabilize()
	if v := r.verify(); !v.OK() {
		t.Errorf("%s %+v", codes(v), v.Report.Bad)
	}
}

// twin registers another instance with the key of one.
func twin(t *testing.T, r *rig, of address.Instance) address.Instance {
	t.Helper()
	second := address.Instance("claude:second:121212121212")
	raw := registry.Build(registry.Agent{Instance: second, Roles: []string{registry.Conductor}, Scopes: []string{"scope:pilot"}, Root: "/bus", PublicKeys: []string{r.keys[of].Public().PEM()}}, noon)
	if err := registry.New(r.store).Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	r.keys[second] = r.keys[of]
	return second
}

// TestOneKeyTwice: an agent that is registered under two names with one key counts once in a quorum.
func TestOneKeyTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	second := twin(t, r, bob)
	all := fmt.Sprintf(`["%s","%s","%s","%s"]`, alice, bob, carol, second)
	r.open("parties="+all, "requiredSigners="+all, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":`+all+`,"threshold":2}`)
	r.offer(alice, "a")
	r.sign(bob)
	if _, err := r.n.Sign(t.Context(), nego, r.act(second), "", r.tick()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
		t.Errorf("one key made a quorum of two: %v", err)
	}
	if v := r.verify(); !strings.Contains(codes(v), "2:same-key") {
		t.Errorf("%s", codes(v))
	}
	r.sign(alice)
	r.stabilize()
	r.want(Stabilized)
}

// TestSettleWithRevokedKey: a revoked key cannot complete a quorum.
func TestSettleWithRevokedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice)
	revoke(t, r, bob)
	r.tick()
	hash := hashOf(t, charter("a"))
	r.now = r.now.Add(time.Hour)
	r.foreignSign(bob, hash)
	r.foreign(Steward, "event", `{"kind":"stabilized","artifactHash":"`+hash+`"}`)
	if s := r.status(); s.Final != nil {
		t.Errorf("settled with a stolen key: %+v", s.Final)
	}
	if v := r.verify(); codes(v) != "2:revoked-key 3:no-quorum" {
		t.Errorf("%s", codes(v))
	}
}

// TestBadState: whatever state.json contains, the journal decides the state of the negotiation, and the end rewrites the file.
func TestBadState(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `{`, `{}`, `[1]`, `null`, `{"id":5}`, "\xff\xfe", `{"id":"nego:pilot-1","id":"nego:pilot-1"}`} {
		r := newRig(t)
		r.open()
		r.offer(alice, "a")
		r.sign(alice, bob)
		doc, err := r.store.Get(t.Context(), stateKey(nego))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Replace(t.Context(), stateKey(nego), []byte(bad), doc.Rev); err != nil {
			t.Fatal(err)
		}
		s, err := r.n.Status(t.Context(), nego, r.now)
		if err != nil || s.State != Accepted || s.Note == "" {
			t.Errorf("%q: %+v, %v", bad, s, err)
			continue
		}
		r.stabilize()
		r.want(Stabilized)
		if doc, err = r.store.Get(t.Context(), stateKey(nego)); err != nil || !bytes.Contains(doc.Data, []byte(`"stabilized"`)) || canonjson.Check(doc.Data) != nil {
			t.Errorf("%q: the record is %s (%v)", bad, doc.Data, err)
		}
	}
}

// TestTooManySigners: a list over its limit is refused and not truncated.
func TestTooManySigners(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	fmt.Fprintf(&all, `["%s"`, alice)
	for n := range maxParties {
		fmt.Fprintf(&all, `,"claude:x:%012d"`, n)
	}
	all.WriteString("]")
	if p := CheckRecord(record("requiredSigners="+all.String()), noon); len(p) == 0 {
		t.Error("it was opened")
	}
	rec, err := ParseRecord(record("requiredSigners=" + all.String()))
	if err == nil && rec.Complete(rec.RequiredSigners) {
		t.Error("complete without the last one")
	}
	rec, err = ParseRecord(record(`requiredSigners=["` + string(alice) + `",5,"` + string(bob) + `"]`))
	if err == nil && rec.Complete([]address.Instance{alice}) {
		t.Error("complete without who could not be read")
	}
}

// TestArtifactNotCovered adds to the file of an agreement what its hash does not cover.
func TestArtifactNotCovered(t *testing.T) {
	t.Parallel()
	for _, more := range []string{`"kind": "ENGAGEMENT",`, `"__proto__": {"fee": 1000},`, `"scope": "scope:everything",`} {
		r := newRig(t)
		r.open()
		r.offer(alice, "a")
		r.sign(alice, bob)
		res := r.stabilize()
		key := ArtifactKey(res.Artifact, res.ArtifactHash)
		doc, err := r.store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		edited := append([]byte("{"+more), doc.Data[1:]...)
		if err := r.store.Delete(t.Context(), key, doc.Rev); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Create(t.Context(), key, edited); err != nil {
			t.Fatal(err)
		}
		if v := r.verify(); v.Artifact == nil {
			t.Errorf("%s in front was not found", more)
		}
	}
}

// TestHostileParties lets a mebibyte of record, registry and journal have as many parties and keys as fit.
func TestHostileParties(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m := memstore.New(memstore.Options{})
	r := rigOn(t, m)
	var all []string
	for n := range maxParties {
		all = append(all, fmt.Sprintf(`"claude:some-rather-long-label-%d:%012d"`, n, n))
	}
	list := "[" + strings.Join(all, ",") + "]"
	r.open("parties="+list, "requiredSigners="+list, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":`+list+`,"threshold":1000}`)
	k, _ := journal.KeyOf(nego)
	prev := ""
	for n, size := 0, 0; size < 1<<20; n++ {
		p := fmt.Sprintf(`{"id":"e","type":"counter","actor":{"instance":"claude:some-rather-long-label-%d:%012d"},"body":{"artifact":{"n":%d}},"createdAt":%q}`, n%1000, n%1000, n, envelope.Stamp(noon))
		content, err := canonjson.Hash([]byte(p))
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"contentHash":%q,%s`, n, content, p[1:])
		if n > 0 {
			line = fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%q,"contentHash":%q,%s`, n, prev, content, p[1:])
		}
		if err := m.PlantLine(k, []byte(line)); err != nil {
			t.Fatal(err)
		}
		prev, size = content, size+len(line)
	}
	boundtest.Work(t, "a mebibyte with many parties", 10*boundtest.MaxTime, func() { r.verify() })
}

// TestHostileKeys gives one party as many keys as fit, and false signatures.
func TestHostileKeys(t *testing.T) {
	if boundtest.Race {
		t.Skip("much of one goroutine's work: the detector makes it slow and has nothing to see")
	}
	r := newRig(t)
	var pems []string
	for range 1000 {
		pems = append(pems, signature.Generate().Public().PEM())
	}
	mallory := address.Instance("agy:mallory:eeeeeeeeeeee")
	raw := registry.Build(registry.Agent{Instance: mallory, Roles: []string{registry.Conductor}, Scopes: []string{"scope:pilot"}, Root: "/bus", PublicKeys: pems[:400]}, noon)
	if err := registry.New(r.store).Register(t.Context(), raw); err != nil {
		t.Skip(err)
	}
	all := fmt.Sprintf(`["%s","%s"]`, alice, mallory)
	r.open("parties="+all, "requiredSigners="+all)
	r.offer(alice, "a")
	body := signBody(mallory, r.keys[eve], hashOf(t, charter("a")))
	for range 300 {
		r.foreign(mallory, "event", body)
	}
	boundtest.Work(t, "false signatures of one with many keys", 10*boundtest.MaxTime, func() { r.verify() })
	r.sign(alice)
	if s := r.status(); len(s.Signed) != 1 {
		t.Errorf("alice's signature does not count any more: %+v", s.Ignored)
	}
}

// mandateOf is an artifact.
func mandateOf(id, rights, expires string, of address.Instance, scope string) []byte {
	return []byte(`{"kind":"MANDATE","id":"` + id + `","instance":"` + string(of) + `","scope":"` + scope + `","role":"MANDATAIRE","rights":` + rights + `,"expiresAt":"` + expires + `"}`)
}

const boss = address.Instance("claude:boss:abababababab")

// grant makes an agreement of a mandate.
func (r *rig) grant(mandate []byte) {
	r.t.Helper()
	r.grantBy(boss, mandate)
}

func (r *rig) grantBy(boss address.Instance, mandate []byte) {
	r.t.Helper()
	id := "nego:" + member(mandate, "id")
	rec := fmt.Appendf(nil, `{"id":%q,"scope":"scope:pilot","parties":[%q],"subject":"contract","requiredSigners":[%q]}`, id, boss, boss)
	a := r.act(boss)
	_, err := r.n.Open(r.t.Context(), rec, Act{}, noon)
	if err == nil {
		_, err = r.n.Offer(r.t.Context(), id, a, Offering{Artifact: mandate, Force: true}, noon)
	}
	if err == nil {
		_, err = r.n.Sign(r.t.Context(), id, a, "", noon)
	}
	if err == nil {
		_, err = r.n.Stabilize(r.t.Context(), id, Act{}, noon)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
