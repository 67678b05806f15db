package agreement

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
)

// say writes an answer past the rules, under whatever key.
func (h *hall) say(who address.Instance, key *signature.Private, m *escalation.Escalation, text string) {
	h.Helper()
	a := negotiation.Act{By: who, Key: key}
	if _, err := h.bus.Negotiations().Note(h.Context(), m.Negotiation, a, "event", "PRINCIPAL", m.AnswerBody(text, ""), h.now); err != nil {
		h.Logf("%s was not even written: %v", text, err)
	}
}

// TestKeyOfAPerson: an answer counts only under a key that a person has confirmed, or that such a key vouches for, whatever the registry
// contains.
func TestKeyOfAPerson(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
	log := h.bus.store.(store.Log)
	mine, next := signature.Generate(), signature.Generate()
	// An agent writes a key of its own into the log, as a further one of the person.
	if _, err := log.Append(t.Context(), store.Key{Kind: store.Keys}, store.AnyEnd, registry.AddedEvent(string(boss), mine.Public(), h.now)); err != nil {
		t.Fatal(err)
	}
	keys, err := h.bus.registry.Keys(t.Context(), boss)
	if err != nil || len(keys.Active) != 2 {
		t.Fatalf("the key does not even lie there: %v, %v", keys, err)
	}
	h.say(boss, mine, h.matter("evt-1"), "as ana likes")
	if m := h.matter("evt-1"); m.Answer != nil || m.Doubt != boss {
		t.Errorf("under a key that anybody has added: %+v, doubt %q", m.Answer, m.Doubt)
	}
	// Its proof is by a key that the person does not have.
	for n, by := range []*signature.Private{mine, h.keys[ana]} {
		key := signature.Generate()
		event := registry.AddedEvent(string(boss), key.Public(), h.now)
		canonical, _ := canonjson.Canonical(event)
		proof := by.Object(string(boss), canonical)
		raw := canonjson.Set(event, "proof", fmt.Appendf(nil, `{"by":%q,"alg":%q,"value":%q}`, proof.By, proof.Alg, proof.Value))
		if _, err := log.Append(t.Context(), store.Key{Kind: store.Keys}, store.AnyEnd, raw); err != nil {
			t.Fatal(err)
		}
		h.say(boss, key, h.matter("evt-1"), fmt.Sprint("proved by another ", n))
	}
	// Somebody is made up, and has what it takes to answer but a key that a person knows.
	eve := h.person("eve", "PRINCIPAL", "scope:x")
	delete(h.known, eve)
	h.say(eve, h.keys[eve], h.matter("evt-1"), "as eve likes")
	if m := h.matter("evt-1"); m.Answer != nil {
		t.Errorf("believed: %+v", m.Answer)
	}
	_, err = h.bus.Answer(t.Context(), h.matter("evt-1"), negotiation.Act{By: boss, Key: mine}, "x", "", true, h.now)
	if _, is := errors.AsType[*KeyError](err); !is {
		t.Errorf("answered under it: %v, want a KeyError", err)
	}
	// What the person's own key stands behind is the person's.
	canonical, _ := canonjson.Canonical(registry.AddedEvent(string(boss), next.Public(), h.now))
	proof := h.keys[boss].Object(string(boss), canonical)
	if err := h.bus.registry.AddKey(t.Context(), boss, next.Public().PEM(), &proof, h.now); err != nil {
		t.Fatal(err)
	}
	if _, err := h.bus.Answer(t.Context(), h.matter("evt-1"), negotiation.Act{By: boss, Key: next}, "yes", "", true, h.now); err != nil {
		t.Fatal(err)
	}
	if m := h.matter("evt-1"); m.Answer == nil || m.Answer.Text != "yes" {
		t.Errorf("under the person's next key: %+v", m.Answer)
	}
	b := New(h.bus.store, h.bus.registry) // of somebody who knows no person
	if m, err := b.Matters().Find(t.Context(), "evt-1"); err != nil || m.Answer != nil {
		t.Errorf("for a reader without known persons: %+v, %v", m.Answer, err)
	}
}

// TestRevokedLater: answers from before the key was revoked stay valid, and later ones do not count, whatever their date. A revocation
// without the person's proof has no effect.
func TestRevokedLater(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	key := h.keys[boss]
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
	h.escalate(ana, "evt-2", "decide", `{"question":"r"}`)
	if err := h.answer(boss, "evt-1", "keep"); err != nil {
		t.Fatal(err)
	}
	still := func(when string) {
		t.Helper()
		if m := h.matter("evt-1"); m.Answer == nil || m.Answer.Text != "keep" {
			t.Errorf("%s: %+v, want what was answered before", when, m.Answer)
		}
	}
	line := fmt.Appendf(nil, `{"instance":%q,"publicKey":%q,"type":"revoked","at":"2020-01-01T00:00:00.000Z"}`, boss, key.Public().PEM())
	if _, err := h.bus.store.(store.Log).Append(t.Context(), store.Key{Kind: store.Keys}, store.AnyEnd, line); err != nil {
		t.Fatal(err)
	}
	still("revoked by anybody")
	if err := h.answer(boss, "evt-2", "x"); err == nil {
		t.Error("answered under a key that the registry has as revoked")
	}

	h = newHall(t)
	ana, bob = h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss = h.person("boss", "PRINCIPAL", "scope:x")
	key = h.keys[boss]
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
	h.escalate(ana, "evt-2", "decide", `{"question":"r"}`)
	if err := h.answer(boss, "evt-1", "keep"); err != nil {
		t.Fatal(err)
	}
	before, err := h.bus.Matters().Sealed(t.Context(), boss, key.Public())
	if len(err) > 0 || len(before) != 1 {
		t.Fatalf("sealed %v, %v, want one answer", before, err)
	}
	then := h.now
	h.now = h.now.Add(time.Hour)
	if err := h.bus.registry.Revoke(t.Context(), boss, key.Public().PEM(), registry.Revocation{By: key, Before: before}, h.now); err != nil {
		t.Fatal(err)
	}
	still("revoked by the person")
	h.now = then
	h.say(boss, key, h.matter("evt-2"), "back-dated")
	if m := h.matter("evt-2"); m.Answer != nil {
		t.Errorf("after the key was revoked: %+v", m.Answer)
	}
	// Who has the key names the answer in a revocation of his own: the first one holds.
	mine, _ := h.bus.Matters().Sealed(t.Context(), boss, key.Public())
	mine = append(mine, entryHashes(h)...)
	if err := h.bus.registry.Revoke(t.Context(), boss, key.Public().PEM()+"\n", registry.Revocation{By: key, Before: mine}, h.now); err != nil && !errors.Is(err, registry.ErrKeyNotActive) {
		t.Fatal(err)
	}
	if m := h.matter("evt-2"); m.Answer != nil {
		t.Errorf("after a second revocation: %+v", m.Answer)
	}
}

// entryHashes are those of all entries.
func entryHashes(h *hall) (all []string) {
	h.Helper()
	m, err := h.bus.Negotiations().Material(h.Context(), "n:1")
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range m.Entries {
		all = append(all, e.EntryHash())
	}
	return all
}

// blind are persons whose keys cannot be read at the moment.
type blind struct{}

func (blind) Bound(address.Instance) []signature.Public { return nil }
func (blind) Err() error                                { return errors.New("the disk is away") }

// TestUnknownPersonDoesNotSettle: a program that does not know the person, or cannot tell at the moment, does not record for everyone that
// the question had no answer.
func TestUnknownPersonDoesNotSettle(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", choice)
	if err := h.answer(boss, "evt-1", "keep"); err != nil {
		t.Fatal(err)
	}
	later := h.now.Add(2 * time.Hour)
	lapsed := func(who string, persons escalation.Persons, problems int) *escalation.Escalation {
		t.Helper()
		b := New(h.bus.store, h.bus.registry)
		b.Persons = persons
		done, told, err := b.Settle(t.Context(), h.act(bob), &escalation.Ends{}, later)
		if err != nil || len(done) > 0 || len(told) != problems {
			t.Errorf("%s: settled %d, problems %v, %v; want none settled and %d problems", who, len(done), told, err, problems)
		}
		m, err := b.Matters().Find(t.Context(), "evt-1")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	key := h.keys[boss].Public()
	if m := lapsed("who does not know the person", known{}, 0); m.Doubt != boss || m.DoubtKey != key {
		t.Errorf("doubt %q, key %s, want the person and the key", m.Doubt, m.DoubtKey.Short())
	}
	lapsed("who cannot tell", blind{}, 1)
	// Revoked since: it was still an answer for who knows the person.
	before, problems := New(h.bus.store, h.bus.registry).Matters().Sealed(t.Context(), boss, key) // of whom nobody is known to
	if len(problems) > 0 || len(before) != 1 {
		t.Fatal(before, problems)
	}
	if err := h.bus.registry.Revoke(t.Context(), boss, key.PEM(), registry.Revocation{By: h.keys[boss], Before: before}, h.now); err != nil {
		t.Fatal(err)
	}
	if m := lapsed("after the key was revoked", known{}, 0); m.Doubt != boss {
		t.Errorf("doubt %q after the key was revoked, want the person", m.Doubt)
	}
	if m := lapsed("who knows the person", h.known, 0); m.Answer == nil || m.Recorded {
		t.Errorf("in the end: %+v, recorded %v", m.Answer, m.Recorded)
	}
}

// noAlerts is a store of which one folder cannot be read.
type noAlerts struct{ escalation.Store }

func (s noAlerts) List(ctx context.Context, kind store.Kind, name string) iter.Seq2[store.Entry, error] {
	if kind != store.Escalation {
		return s.Store.List(ctx, kind, name)
	}
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errors.New("the disk is away")) }
}

// TestSealedReportsProblems: unreadable escalations are reported beside the readable ones.
func TestSealedReportsProblems(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
	if err := h.answer(boss, "evt-1", "keep"); err != nil {
		t.Fatal(err)
	}
	s := noAlerts{h.bus.store}
	before, problems := escalation.New(s, h.bus.registry, h.known, nil).Sealed(t.Context(), boss, h.keys[boss].Public())
	if len(before) != 1 || len(problems) != 1 {
		t.Errorf("sealed %v, problems %v, want one of each", before, problems)
	}
}
