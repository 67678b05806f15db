package negotiation

import (
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
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestForeign goes through a negotiation whose entries are all by existing programs: it is read, judged, and stabilised.
func TestForeign(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.foreign(alice, "propose", `{"artifact":`+string(charter("a"))+`}`)
	r.want(Proposed)
	r.foreign(bob, "counter", `{"artifact":`+string(charter("b"))+`}`)
	r.want(Countered)
	r.foreignSign(alice, hashOf(t, charter("b")))
	r.foreignSign(bob, hashOf(t, charter("b")))
	r.want(Accepted)
	v := r.verify()
	if codes(v) != "1:unbased+ 2:unbound+ 3:unbound+" || !v.OK() {
		t.Errorf("%s", codes(v))
	}
	r.n.Strict = true
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
		t.Errorf("strict, and unbound signatures count: %v", err)
	}
	r.n = r.fresh()
	r.stabilize()
	r.want(Stabilized)
}

// A forgery is something that a dishonest party adds to a journal with an offer by alice, "a".
type forgery struct {
	name string
	do   func(t *testing.T, r *rig)
	want string // codes of the last entry
}

var forgeries = []forgery{
	{"signature of a stranger", func(t *testing.T, r *rig) { r.foreignSign(eve, hashOf(t, charter("a"))) }, "1:non-party"},
	{"signature of a party that is not asked for one", func(t *testing.T, r *rig) {
		r.foreignSign(carol, hashOf(t, charter("a")))
	}, "1:non-party"},
	{"signature in the name of another", func(t *testing.T, r *rig) {
		r.foreign(bob, "event", signBody(alice, r.keys[bob], hashOf(t, charter("a"))))
	}, "1:signer"},
	{"signature under a wrong key", func(t *testing.T, r *rig) {
		r.foreign(bob, "event", signBody(bob, r.keys[eve], hashOf(t, charter("a"))))
	}, "1:invalid"},
	{"signature of something else", func(t *testing.T, r *rig) {
		body := signBody(bob, r.keys[bob], hashOf(t, charter("z")))
		r.foreign(bob, "event", strings.Replace(body, hashOf(t, charter("z")), hashOf(t, charter("a")), 1))
	}, "1:invalid"},
	{"signature of an artifact that was not offered", func(t *testing.T, r *rig) { r.foreignSign(bob, hashOf(t, charter("z"))) }, "1:not-offered"},
	{"signature under a revoked key", func(t *testing.T, r *rig) {
		revoke(t, r, bob)
		r.foreignSign(bob, hashOf(t, charter("a")))
	}, "1:revoked-key"},
	{"signature for a superseded offer", func(t *testing.T, r *rig) {
		r.counter(alice, "b")
		r.foreignSign(bob, hashOf(t, charter("a")))
	}, "2:superseded"},
	{"signature copied behind a newer offer", func(t *testing.T, r *rig) {
		r.sign(bob)
		r.counter(alice, "b")
		e, _ := parseLine(t, r.lines()[1])
		body, _ := canonjson.Get(e, "body")
		r.foreign(bob, "event", string(body))
	}, "3:unsealed"},
	{"signature replayed from another negotiation", func(t *testing.T, r *rig) {
		hash := hashOf(t, charter("a"))
		body := signBody(bob, r.keys[bob], hash)
		context := envelope.SignatureJSON(r.keys[bob].Object(string(bob), contextText(hash, "nego:other", "scope:pilot", bob)))
		r.foreign(bob, "event", strings.TrimSuffix(body, "}")+`,"context":`+string(context)+"}")
	}, "1:replayed"},
	{"whole entry replayed from another negotiation", func(t *testing.T, r *rig) {
		r.foreignAt(bob, "event", signBody(bob, r.keys[bob], hashOf(t, charter("a"))), r.tick(), `,"negotiationId":"nego:other"`)
	}, "1:elsewhere"},
	{"replayed signature without its context", func(t *testing.T, r *rig) {
		r.counter(bob, "a")
		r.foreignSign(bob, hashOf(t, charter("a")))
	}, "2:unsealed"},
	{"offer of a stranger", func(_ *testing.T, r *rig) { r.foreign(eve, "counter", `{"artifact":`+string(charter("e"))+`}`) }, "1:non-party"},
	{"offer in the name of a sealing party", func(_ *testing.T, r *rig) {
		r.foreign(alice, "counter", `{"artifact":`+string(charter("e"))+`}`)
	}, "1:unsealed"},
	{"offer with a base that is old", func(t *testing.T, r *rig) {
		r.counter(alice, "b")
		r.foreignAt(bob, "counter", `{"artifact":`+string(charter("e"))+`}`, r.tick(), `,"baseArtifactHash":"`+hashOf(t, charter("a"))+`"`)
	}, "2:stale-base"},
	{"rejection of a stranger", func(_ *testing.T, r *rig) { r.foreign(eve, "reject", `{}`) }, "1:non-party"},
	{"rejection in the name of a sealing party", func(_ *testing.T, r *rig) { r.foreign(alice, "reject", `{}`) }, "1:unsealed"},
	{"rejection sealed with a wrong key", func(t *testing.T, r *rig) { sealedBy(t, r, bob, r.keys[eve], "reject", `{}`) }, "1:forged"},
	{"withdrawal without an offer", func(t *testing.T, r *rig) { sealedBy(t, r, bob, r.keys[bob], "withdraw", `{}`) }, "1:not-theirs"},
	{"expiry without a deadline", func(t *testing.T, r *rig) {
		sealedBy(t, r, bob, r.keys[bob], "event", `{"kind":"expired"}`)
	}, "1:not-theirs"},
	{"unsealed rejection by a party with a key", func(_ *testing.T, r *rig) { r.foreign(bob, "reject", `{}`) }, "1:unsealed"},
	{"unsealed abandonment by a party with a key", func(_ *testing.T, r *rig) {
		r.foreign(bob, "event", `{"kind":"abandoned"}`)
	}, "1:unsealed"},
	{"the word that all have signed", func(t *testing.T, r *rig) {
		r.foreign(Steward, "event", `{"kind":"stabilized","artifactHash":"`+hashOf(t, charter("a"))+`","signers":["x"]}`)
	}, "1:no-quorum"},
	{"the word that all have signed, with false signatures", func(t *testing.T, r *rig) {
		for _, i := range []address.Instance{alice, bob} {
			sealedBy(t, r, i, r.keys[i], "event", signBody(i, r.keys[eve], hashOf(t, charter("a"))))
		}
		r.foreign(Steward, "event", `{"kind":"stabilizing","artifactHash":"`+hashOf(t, charter("a"))+`"}`)
	}, "1:invalid 2:invalid 3:no-quorum"},
}

func parseLine(t *testing.T, l []byte) ([]byte, error) {
	t.Helper()
	if !canonjson.Valid(l) {
		t.Fatalf("%s", l)
	}
	return l, nil
}

func revoke(t *testing.T, r *rig, i address.Instance) {
	t.Helper()
	if err := registry.New(r.store).RevokeKey(t.Context(), i, r.keys[i].Public().PEM(), r.tick()); err != nil {
		t.Fatal(err)
	}
}

// sealedBy adds an entry with a link, in whatever name, under whatever key.
func sealedBy(t *testing.T, r *rig, by address.Instance, key *signature.Private, typ, body string) {
	t.Helper()
	payload := fmt.Sprintf(`{"id":"evt-forged","type":%q,"actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":%s,"createdAt":%q}`, typ, by, body, envelope.Stamp(r.tick()))
	_, err := journal.New(r.store).Append(t.Context(), nego, nil, journal.Seal{By: by, Key: key}, func(journal.Tip) ([]byte, error) { return []byte(payload), nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestForgeries adds each of them: it is named and changes nothing, and the honest parties come to their end.
func TestForgeries(t *testing.T) {
	t.Parallel()
	for _, c := range forgeries {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.open()
			r.offer(alice, "a")
			c.do(t, r)
			v := r.verify()
			if codes(v) != c.want || v.OK() {
				t.Errorf("got %q (ok %v), want %q: %+v", codes(v), v.OK(), c.want, v.Entries)
			}
			if s := r.status(); len(s.Signed) > 0 || s.State != Proposed && s.State != Countered {
				t.Errorf("it has had an effect: %+v", s)
			}
			if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
				t.Errorf("stabilised: %v", err)
			}
			if strings.Contains(c.name, "revoked") {
				return
			}
			if r.status().State == Rejected {
				return
			}
			r.sign(alice, bob)
			r.stabilize()
			r.want(Stabilized)
		})
	}
}

// TestRevokedMeanwhile: a signature that counted does not when its key is revoked before the end.
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	r.want(Accepted)
	revoke(t, r, bob)
	r.want(Proposed)
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("%v", err)
	}
	key := signature.Generate()
	if err := registry.New(r.store).AddKey(t.Context(), bob, key.Public().PEM(), nil, r.tick()); err != nil {
		t.Fatal(err)
	}
	r.keys[bob] = key
	r.n = r.fresh()
	r.sign(bob)
	r.stabilize()
	revoke(t, r, bob)
	r.want(Stabilized) // what was settled stays so, and it is told
	if v := r.verify(); !strings.Contains(codes(v), "former-key+") {
		t.Errorf("%s", codes(v))
	}
}

// TestChangedAfterwards edits files after the end: each change is named.
func TestChangedAfterwards(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, r *rig, m *memstore.Store) string{
		"artifact edited": func(t *testing.T, r *rig, m *memstore.Store) string {
			key := ArtifactKey(charter("a"), hashOf(t, charter("a")))
			plantDoc(t, m, key, charter("A"))
			return "was changed after it was stabilised"
		},
		"state set back": func(t *testing.T, r *rig, m *memstore.Store) string {
			plantDoc(t, m, stateKey(nego), record())
			return "state.json says draft"
		},
		"signers taken out of the record": func(t *testing.T, r *rig, m *memstore.Store) string {
			plantDoc(t, m, stateKey(nego), record(`requiredSigners=["`+string(bob)+`"]`))
			return "different terms"
		},
		"record removed": func(_ *testing.T, r *rig, _ *memstore.Store) string {
			r.dropState()
			return "state.json is not there"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memstore.New(memstore.Options{})
			r := rigOn(t, m)
			r.open()
			r.offer(alice, "a")
			r.sign(alice, bob)
			r.stabilize()
			want := change(t, r, m)
			v := r.verify()
			said := strings.Join(v.Problems, " ") + fmt.Sprint(v.Artifact)
			if v.OK() || !strings.Contains(said, want) {
				t.Errorf("ok %v, %q, want %q", v.OK(), said, want)
			}
		})
	}
}

func plantDoc(t *testing.T, m *memstore.Store, k store.Key, data []byte) {
	t.Helper()
	doc, err := m.Get(t.Context(), k)
	if err == nil {
		err = m.Delete(t.Context(), k, doc.Rev)
	}
	if err == nil {
		_, err = m.Create(t.Context(), k, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTermsChanged: nothing is concluded under terms that are not those of the journal.
func TestTermsChanged(t *testing.T) {
	t.Parallel()
	m := memstore.New(memstore.Options{})
	r := rigOn(t, m)
	r.open()
	r.offer(alice, "a")
	plantDoc(t, m, stateKey(nego), record(`requiredSigners=["`+string(bob)+`"]`))
	if _, err := r.n.Sign(t.Context(), nego, r.act(bob), "", r.tick()); !errors.Is(err, ErrTerms) {
		t.Errorf("signed: %v", err)
	}
	r.foreignSign(bob, hashOf(t, charter("a")))
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrTerms) {
		t.Errorf("stabilised: %v", err)
	}
}

// TestWithoutState tells everything from the journal.
func TestWithoutState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-13T12:00:00.000Z"`, `x-own="kept"`)
	r.offer(alice, "a")
	r.sign(alice)
	r.dropState()
	for name, n := range map[string]*Negotiations{"remembering": r.n, "fresh": r.fresh()} {
		s, err := n.Status(t.Context(), nego, r.now)
		if err != nil || s.Found || s.State != Proposed || len(s.Signed) != 1 || s.Signed[0].By != alice || len(s.Must) != 1 || s.Must[0] != bob ||
			len(s.Record.Parties) != 2 || s.Record.Deadline == "" || len(s.Next) != 1 || !strings.Contains(s.Next[0].Command, "accept "+nego+" --instance "+string(bob)) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	r.sign(bob)
	r.want(Accepted)
	res := r.stabilize()
	if res.Record.Status != Stabilized || member(res.Record.Raw, "x-own") != "kept" {
		t.Errorf("%s", res.Record.Raw)
	}
	if v := r.verify(); !v.OK() {
		t.Errorf("%s %v", codes(v), v.Problems)
	}
}

// TestEntryAfterDeadline: an entry written after the deadline does not count, whatever its date.
func TestEntryAfterDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-12T13:00:00.000Z"`)
	r.offer(alice, "a")
	r.sign(alice)
	r.now = noon.Add(2 * time.Hour)
	r.foreignSign(bob, hashOf(t, charter("a")))
	if v := r.verify(); codes(v) != "2:late" {
		t.Errorf("%s", codes(v))
	}
	r.want(Expired)
	// Dated back before the deadline, behind an entry that is dated after it: the journal says so.
	r.foreignAt(bob, "event", signBody(bob, r.keys[bob], hashOf(t, charter("a"))), noon.Add(50*time.Minute), "")
	r.want(Expired)
	v := r.verify()
	if codes(v) != "2:late 3:late" {
		t.Errorf("%s", codes(v))
	}
	named := false
	for _, note := range v.Report.Notes {
		named = named || note.Index == 3 && note.Kind == journal.NoteBackward
	}
	if !named {
		t.Errorf("%+v", v.Report.Notes)
	}
}

// TestClocks: two machines whose clocks are an hour apart come to an agreement.
func TestClocks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-12T18:00:00.000Z"`)
	ctx, early := t.Context(), func(i int) time.Time { return noon.Add(time.Duration(i) * time.Minute) }
	late := func(i int) time.Time { return early(i).Add(time.Hour) }
	n := r.fresh()
	if _, err := r.n.Offer(ctx, nego, r.act(alice), Offering{Artifact: charter("a")}, late(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Counter(ctx, nego, r.act(bob), Offering{Artifact: charter("b"), Base: hashOf(t, charter("a"))}, early(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Sign(ctx, nego, r.act(alice), "", late(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Sign(ctx, nego, r.act(bob), "", early(4)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Stabilize(ctx, nego, r.act(bob), early(5)); err != nil {
		t.Fatal(err)
	}
	r.now = early(6)
	r.want(Stabilized)
	v := r.verify()
	if !v.OK() || len(v.Report.Notes) == 0 {
		t.Errorf("%s, notes %+v: the clocks are reported", codes(v), v.Report.Notes)
	}
}

// TestUnreadableRegistry: a registry that cannot be read makes no verdict.
func TestUnreadableRegistry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	n := New(r.store, journal.New(r.store), deaf{})
	if _, err := n.Status(t.Context(), nego, r.now); !errors.Is(err, errDeaf) {
		t.Errorf("status: %v", err)
	}
	if _, err := n.Stabilize(t.Context(), nego, Act{}, r.now); !errors.Is(err, errDeaf) {
		t.Errorf("stabilize: %v", err)
	}
}

type deaf struct{}

var errDeaf = errors.New("the registry cannot be read")

func (deaf) Registered(context.Context, address.Instance) (*registry.Registration, error) {
	return nil, errDeaf
}

func (deaf) Keys(context.Context, address.Instance) (*registry.Keys, error) { return nil, errDeaf }

func (deaf) Standing(context.Context, address.Instance) error { return errDeaf }
