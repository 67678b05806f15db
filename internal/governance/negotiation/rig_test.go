package negotiation

import (
	"context"
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
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	nego  = "nego:pilot-1"
	alice = address.Instance("claude:ledger:77aa88bb99cc")
	bob   = address.Instance("codex:billing:0a1b2c3d4e5f")
	carol = address.Instance("gemini:audit:001122334455")
	eve   = address.Instance("agy:eve:ffffffffffff")
)

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)

// A rig is a bus with four registered instances. Each act takes a minute.
type rig struct {
	t     testing.TB
	store Store
	n     *Negotiations
	keys  map[address.Instance]*signature.Private
	now   time.Time
	root  string // of one on files

	memory *memory // of the user; nil: none
}

func newRig(t testing.TB) *rig { return rigOn(t, memstore.New(memstore.Options{})) }

func filesRig(t testing.TB) *rig { return filesRigAt(t, t.TempDir()) }

func filesRigAt(t testing.TB, root string) *rig {
	t.Helper()
	s, err := filestore.Open(root, filestore.Options{Create: true, CreatedBy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := rigOn(t, s)
	r.root = root
	return r
}

func rigOn(t testing.TB, s Store) *rig {
	t.Helper()
	r := &rig{t: t, store: s, keys: map[address.Instance]*signature.Private{}, now: noon}
	for _, i := range []address.Instance{alice, bob, carol, eve} {
		r.register(i, registry.Conductor)
	}
	r.n = r.fresh()
	return r
}

func (r *rig) register(i address.Instance, roles ...string) {
	r.t.Helper()
	key := signature.Generate()
	r.keys[i] = key
	raw := registry.Build(registry.Agent{Instance: i, Roles: roles, Scopes: []string{"scope:pilot"}, Root: "/bus", PublicKeys: []string{key.Public().PEM()}}, noon)
	if err := registry.New(r.store).Register(r.t.Context(), raw); err != nil {
		r.t.Fatal(err)
	}
}

// fresh is another program on the same bus.
func (r *rig) fresh() *Negotiations {
	n := New(r.store, journal.New(r.store), registry.New(r.store))
	if r.memory != nil {
		n.Seen = r.memory
	}
	return n
}

func (r *rig) tick() time.Time {
	r.now = r.now.Add(time.Minute)
	return r.now
}

func (r *rig) act(i address.Instance) Act { return Act{By: i, Key: r.keys[i]} }

// record is a draft between alice and bob; more are further members.
func record(more ...string) []byte {
	raw := fmt.Sprintf(`{"id":%q,"scope":"scope:pilot","parties":[%q,%q],"subject":"engagement","status":"draft","requiredSigners":[%q,%q]}`, nego, alice, bob, alice, bob)
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		raw = string(canonjson.Set([]byte(raw), name, []byte(value)))
	}
	return []byte(raw)
}

func charter(goal string) []byte {
	return fmt.Appendf(nil, `{"kind":"ENGAGEMENT","id":"eng:pilot-1","scope":"scope:pilot","charter":{"goal":%q},"roleBindings":[{"role":"AGENTS","instance":%q}],"controls":[],"policies":[],"successCriteria":["build green"]}`, goal, bob)
}

func hashOf(t testing.TB, artifact []byte) string {
	t.Helper()
	h, err := HashOf(artifact)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (r *rig) open(more ...string) {
	r.t.Helper()
	if _, err := r.n.Open(r.t.Context(), record(more...), Act{}, r.now); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) offer(i address.Instance, goal string) *journal.Entry {
	r.t.Helper()
	e, err := r.n.Offer(r.t.Context(), nego, r.act(i), Offering{Artifact: charter(goal)}, r.tick())
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func (r *rig) counter(i address.Instance, goal string) {
	r.t.Helper()
	if _, err := r.n.Counter(r.t.Context(), nego, r.act(i), Offering{Artifact: charter(goal), Base: LatestBase}, r.tick()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) sign(all ...address.Instance) {
	r.t.Helper()
	for _, i := range all {
		if _, err := r.n.Sign(r.t.Context(), nego, r.act(i), "", r.tick()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) stabilize() *Result {
	r.t.Helper()
	res, err := r.n.Stabilize(r.t.Context(), nego, Act{}, r.tick())
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *rig) status() *Standing {
	r.t.Helper()
	s, err := r.n.Status(r.t.Context(), nego, r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) want(state State) {
	r.t.Helper()
	if s := r.status(); s.State != state {
		r.t.Errorf("it is %s (%s), want %s", s.State, s.Why, state)
	}
	if s, err := r.fresh().Status(r.t.Context(), nego, r.now); err != nil || s.State != state {
		r.t.Errorf("to another program it is %+v (%v), want %s", s, err, state)
	}
}

func (r *rig) verify() *Verdict {
	r.t.Helper()
	v, err := r.fresh().Verify(r.t.Context(), nego, r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// codes are the codes of what does not count and of what does.
func codes(v *Verdict) string {
	var all []string
	for _, j := range v.Entries {
		s := fmt.Sprintf("%d:%s", j.Index, j.Code)
		if j.Counts {
			s += "+"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// foreign adds an entry as existing programs do: a frame, no link, no seal.
func (r *rig) foreign(by address.Instance, typ, body string) {
	r.t.Helper()
	r.foreignAt(by, typ, body, r.tick(), "")
}

func (r *rig) foreignAt(by address.Instance, typ, body string, at time.Time, extra string) {
	r.t.Helper()
	payload := fmt.Sprintf(`{"id":"evt-%d","type":%q,"actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":%s,"createdAt":%q%s}`,
		at.UnixMilli(), typ, by, body, envelope.Stamp(at), extra)
	r.plant([]byte(payload))
}

// plant frames a payload behind the journal.
func (r *rig) plant(payload []byte) {
	r.t.Helper()
	tip, err := journal.New(r.store).Catch(r.t.Context(), nego, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	content, err := canonjson.Hash(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	head := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"contentHash":%q,`, tip.Count, content)
	if tip.Count > 0 {
		head = fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%q,"contentHash":%q,`, tip.Count, tip.ContentHash, content)
	}
	k, _ := journal.KeyOf(nego)
	if _, err := r.store.Append(r.t.Context(), k, tip.Pos, append([]byte(head), payload[1:]...)); err != nil {
		r.t.Fatal(err)
	}
}

// foreignSign is a signature as existing programs make it.
func (r *rig) foreignSign(by address.Instance, hash string) {
	r.t.Helper()
	r.foreign(by, "event", signBody(by, r.keys[by], hash))
}

func signBody(by address.Instance, key *signature.Private, hash string) string {
	return fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s}`, hash, envelope.SignatureJSON(key.Object(string(by), signedText(hash))))
}

func (r *rig) lines() [][]byte {
	r.t.Helper()
	k, _ := journal.KeyOf(nego)
	var all [][]byte
	for l, err := range r.store.Read(context.Background(), k, "") {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, append([]byte(nil), l.Data...))
	}
	return all
}

func (r *rig) dropState() {
	r.t.Helper()
	doc, err := r.store.Get(r.t.Context(), stateKey(nego))
	if err == nil {
		err = r.store.Delete(r.t.Context(), stateKey(nego), doc.Rev)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func count(t testing.TB, s store.Log, kind string) int {
	t.Helper()
	k, _ := journal.KeyOf(nego)
	n := 0
	for l, err := range s.Read(t.Context(), k, "") {
		if err != nil {
			t.Fatal(err)
		}
		b, _ := canonjson.Get(l.Data, "body")
		if member(b, "kind") == kind {
			n++
		}
	}
	return n
}
