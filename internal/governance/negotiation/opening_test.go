package negotiation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
)

// memory is a Memory of this process.
type memory struct {
	mu   sync.Mutex
	seen map[string]Seen
}

func (m *memory) Last(id string) (Seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[id], nil
}

func (m *memory) Keep(id string, s Seen) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[id] = s
	return nil
}

func (m *memory) Path(id string) string { return "/memory/" + id }

// remembers gives the user of a rig a memory, which its other programs share.
func (r *rig) remembers() *memory {
	m := &memory{seen: map[string]Seen{}}
	r.memory, r.n.Seen = m, m
	return m
}

// openSealed is open by alice, under her seal.
func (r *rig) openSealed(more ...string) {
	r.t.Helper()
	if _, err := r.n.Open(r.t.Context(), record(more...), r.act(alice), r.tick()); err != nil {
		r.t.Fatal(err)
	}
}

// setState changes state.json as anyone can who may write the bus.
func (r *rig) setState(name, value string) {
	r.t.Helper()
	doc, err := r.store.Get(r.t.Context(), stateKey(nego))
	if err == nil {
		_, err = r.store.Replace(r.t.Context(), stateKey(nego), canonjson.Set(doc.Data, name, []byte(value)), doc.Rev)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) problems(want string) {
	r.t.Helper()
	v := r.verify()
	if got := strings.Join(v.Problems, "; "); v.OK() || !strings.Contains(got, want) {
		r.t.Errorf("verify says %q (ok %v), want %q", got, v.OK(), want)
	}
	if s := r.status(); !strings.Contains(s.Note, want) {
		r.t.Errorf("show says %q, want %q", s.Note, want)
	}
}

// TestSealedTerms changes state.json between the opening and the first offer: the terms are those of the opening, verify names the change, and the
// next entry writes the file again.
func TestSealedTerms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.openSealed()
	if s := r.status(); s.Opening == nil || s.Opening.By != alice || s.State != Draft {
		t.Fatalf("opened: %+v", s)
	}
	r.setState("requiredSigners", fmt.Sprintf("[%q]", bob))
	r.problems("other terms")
	r.offer(bob, "a")
	r.sign(bob)
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
		t.Errorf("stabilised under the terms of state.json: %v", err)
	}
	if v := r.verify(); !v.OK() {
		t.Errorf("state.json was not written again: %v %s", v.Problems, codes(v))
	}
	r.sign(alice)
	r.dropState()
	r.stabilize()
	r.want(Stabilized)
	if v := r.verify(); !v.OK() {
		t.Errorf("%v %s", v.Problems, codes(v))
	}
	r.setState("status", `"withdrawn"`)
	r.want(Stabilized)
}

// TestSealedState writes an end into state.json alone: it does not end what was opened under a seal.
func TestSealedState(t *testing.T) {
	t.Parallel()
	for _, end := range []State{Withdrawn, Rejected, Expired, Abandoned, Stabilized} {
		r := newRig(t)
		r.openSealed()
		r.offer(alice, "a")
		r.setState("status", `"`+string(end)+`"`)
		r.want(Proposed)
		r.problems("state.json says " + string(end))
		r.sign(alice, bob)
		r.stabilize()
		r.want(Stabilized)
	}
}

// TestSealedEntries: writes entries without a seal in the name of bob, who has written nothing yet: none has an effect, and each is shown.
func TestSealedEntries(t *testing.T) {
	t.Parallel()
	hash := hashOf(t, charter("a"))
	for name, write := range map[string]func(r *rig){
		"reject":    func(r *rig) { r.foreign(bob, "reject", `{}`) },
		"counter":   func(r *rig) { r.foreign(bob, "counter", `{"artifact":`+string(charter("b"))+`}`) },
		"abandon":   func(r *rig) { r.foreign(bob, "event", `{"kind":"abandoned"}`) },
		"signature": func(r *rig) { r.foreignSign(bob, hash) },
		"settlement": func(r *rig) {
			r.sign(alice, bob)
			r.foreign(alice, "event", `{"kind":"stabilizing","artifactHash":"`+hash+`"}`)
		},
		"of a unkeyed": func(r *rig) { r.register("agy:new:aaaaaaaaaaaa"); r.foreign(bob, "withdraw", `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.openSealed()
			r.offer(alice, "a")
			write(r)
			v := r.verify()
			if got := codes(v); !strings.HasSuffix(got, ":unsealed") || v.OK() {
				t.Errorf("it is %q (ok %v)", got, v.OK())
			}
			if s := r.status(); s.State != Proposed && s.State != Accepted || s.Final != nil || len(s.Offers) != 1 {
				t.Errorf("it has had an effect: %s %+v", s.State, s.Offers)
			}
		})
	}
}

// TestSealedOpening forges openings: none of them counts as one.
func TestSealedOpening(t *testing.T) {
	t.Parallel()
	terms := func(r *rig) string { rec, _ := ParseRecord(record()); return string(rec.terms()) }
	for name, c := range map[string]struct {
		plant func(r *rig)
		want  string
	}{
		"without a seal": {func(r *rig) {
			r.foreignAt(alice, "event", `{"kind":"opened"}`, r.tick(), `,"negotiationId":"`+nego+`","link":{"seq":0},"terms":`+terms(r))
		}, "0:unsealed"},
		"under another key": {func(r *rig) { r.keys[alice] = r.keys[eve]; r.sealOpening() }, "0:forged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.plant(r)
			if v := r.verify(); codes(v) != c.want || v.OK() || v.Standing.Opening != nil {
				t.Errorf("it is %q (ok %v), want %q", codes(v), v.OK(), c.want)
			}
		})
	}
}

// sealOpening writes an opening under the key that the rig has for alice.
func (r *rig) sealOpening() {
	rec, _ := ParseRecord(record())
	body := fmt.Sprintf(`{"id":"evt-opened","type":"event","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":{"kind":"opened"},"createdAt":"2026-06-12T12:00:00.000Z","negotiationId":%q,"terms":%s}`, alice, nego, rec.terms())
	_, err := journal.New(r.store).Append(r.t.Context(), nego, nil, journal.Seal{By: alice, Key: r.keys[alice]}, func(journal.Tip) ([]byte, error) { return []byte(body), nil })
	if err != nil {
		r.t.Fatal(err)
	}
}

// rewrite puts other lines into the journal, of a rig on files.
func (r *rig) rewrite(lines [][]byte) {
	r.t.Helper()
	var all []byte
	for _, l := range lines {
		all = append(append(all, l...), '\n')
	}
	if err := os.WriteFile(filepath.Join(r.root, "negotiations", address.Segment(nego), "journal.jsonl"), all, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// stranger is a program of another user on the same bus.
func (r *rig) stranger() *Negotiations {
	return New(r.store, journal.New(r.store), registry.New(r.store))
}

func (r *rig) offboardAt(i address.Instance, at time.Time) {
	r.t.Helper()
	if err := registry.New(r.store).Offboard(r.t.Context(), registry.Tombstone{Instance: i, At: envelope.Stamp(at), Reason: "left"}); err != nil {
		r.t.Fatal(err)
	}
}

// TestSignatureWithoutContext takes the member away that binds a signature, and copies it into a negotiation that was opened under a seal.
func TestSignatureWithoutContext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.openSealed()
	r.offer(alice, "a")
	r.sign(alice)
	r.foreignSign(bob, hashOf(t, charter("a"))) // what a cut one looks like
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, ErrQuorum) {
		t.Errorf("a signature without its context counts: %v", err)
	}
}

// TestRolledBackJournal puts a journal back to an earlier state, and writes it anew: a user who had read it is warned, and signs nothing behind it.
func TestRolledBackJournal(t *testing.T) {
	t.Parallel()
	r := filesRig(t)
	r.remembers()
	r.openSealed()
	r.offer(alice, "a")
	lines := r.lines()
	r.counter(bob, "b")
	r.sign(alice, bob)
	r.stabilize()
	r.want(Stabilized)
	r.rewrite(lines)
	r.problems("put back to an earlier state")
	r.problems("by which it was settled")
	if _, err := r.n.Sign(t.Context(), nego, r.act(alice), "", r.tick()); err == nil || !strings.Contains(err.Error(), "put back") {
		t.Errorf("signed behind what was put back: %v", err)
	}
	for range 4 { // as long as it was
		r.foreign(alice, "event", `{"kind":"note"}`)
	}
	for range 4 {
		r.foreign(bob, "event", `{"kind":"note"}`)
	}
	r.problems("written anew")
	r.rewrite(nil)
	r.dropState()
	if _, err := r.n.Status(t.Context(), nego, r.now); err == nil || !strings.Contains(err.Error(), "by which it was settled") {
		t.Errorf("all of it is gone: %v", err)
	}
	delete(r.memory.seen, nego)
	r.openSealed()
	r.want(Draft)
}

// TestBackdatedSignature dates a signature before the deadline after which this user had read the journal without it.
func TestBackdatedSignature(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.remembers()
	end := r.now.Add(time.Hour)
	r.openSealed(`deadline="` + end.Format(time.RFC3339) + `"`)
	r.offer(alice, "a")
	r.sign(alice)
	r.now = end.Add(time.Minute)
	r.want(Expired)
	at := end.Add(-time.Minute)
	if _, err := r.stranger().Sign(t.Context(), nego, r.act(bob), "", at); err != nil {
		t.Fatal(err) // with a clock that is late
	}
	if v := r.verify(); codes(v) != "3:late" || v.OK() {
		t.Errorf("a signature that came after the deadline: %q", codes(v))
	}
	r.want(Expired)
}

// TestFarBackdatedEntry dates an entry hours before this user last read the journal, where no deadline is set: it counts, with a remark.
func TestFarBackdatedEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.remembers()
	r.openSealed()
	r.offer(alice, "a")
	early := r.now
	r.now = r.now.Add(24 * time.Hour)
	r.sign(alice)
	r.sealedAt(r.act(bob), "event", `{"kind":"note"}`, early)
	for range 2 { // each look says so again
		if v := r.verify(); !strings.Contains(codes(v), "3:backdated+") || !v.OK() {
			t.Errorf("%q (ok %v)", codes(v), v.OK())
		}
		r.now = r.now.Add(24 * time.Hour)
		r.counter(alice, "b")
	}
}

// TestSettledStaysSettled revokes keys and takes an agent out of service after an agreement: verify and show go on calling it settled.
func TestSettledStaysSettled(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(r *rig){
		"a new key, and the old one revoked": func(r *rig) { revoke(r.t.(*testing.T), r, bob) },
		"both revoked":                       func(r *rig) { revoke(r.t.(*testing.T), r, bob); revoke(r.t.(*testing.T), r, alice) },
		"out of service":                     func(r *rig) { r.offboardAt(bob, r.tick()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sealed := range []bool{true, false} {
				r := newRig(t)
				if sealed {
					r.openSealed()
				} else {
					r.open()
				}
				r.offer(alice, "a")
				r.sign(alice, bob)
				r.stabilize()
				r.now = r.now.Add(time.Hour)
				after(r)
				v := r.verify()
				if !v.OK() || v.Standing.State != Stabilized {
					t.Errorf("sealed %v: it holds no more: %s %q %v", sealed, v.Standing.State, codes(v), v.Problems)
				}
				if s := r.status(); s.State != v.Standing.State || len(s.Ignored) > 0 {
					t.Errorf("sealed %v: show says %s, %+v", sealed, s.State, s.Ignored)
				}
			}
		})
	}
}

// TestSeenSettled writes a revocation and an end of service into the registry that are dated before the agreement: who had seen it settled
// keeps it.
func TestSeenSettled(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(r *rig, at time.Time){
		"revocation": func(r *rig, at time.Time) {
			if err := registry.New(r.store).RevokeKey(r.t.Context(), bob, r.keys[bob].Public().PEM(), at); err != nil {
				r.t.Fatal(err)
			}
		},
		"out of service": func(r *rig, at time.Time) { r.offboardAt(bob, at) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.remembers()
			early := r.now
			r.now = r.now.Add(time.Hour)
			r.openSealed()
			r.offer(alice, "a")
			r.sign(alice, bob)
			r.stabilize()
			r.want(Stabilized)
			after(r, early)
			r.want(Stabilized)
			if v := r.verify(); !v.OK() {
				t.Errorf("%q %v", codes(v), v.Problems)
			}
			r.n.Seen, r.memory = nil, nil
			if v := r.verify(); v.OK() {
				t.Error("who had not seen it takes a dated-back entry of the registry for nothing")
			}
		})
	}
}
