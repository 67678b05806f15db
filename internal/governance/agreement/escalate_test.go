package agreement

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
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// person registers somebody who is one.
func (h *hall) person(name, role, scope string) address.Instance {
	h.Helper()
	i := address.Instance(fmt.Sprintf("human:%s:%012d", name, len(h.keys)))
	h.keys[i] = signature.Generate()
	h.known[i] = append(h.known[i], h.keys[i].Public())
	raw := registry.Build(registry.Agent{Instance: i, Roles: []string{role}, Scopes: []string{scope}, Root: "/bus", PublicKeys: []string{h.keys[i].Public().PEM()}}, h.now)
	if err := h.bus.registry.Register(h.Context(), raw); err != nil {
		h.Fatal(err)
	}
	return i
}

func (h *hall) escalate(by address.Instance, id, channel, payload string) {
	h.Helper()
	a := h.act(by)
	a.EventID = id
	if _, err := h.bus.Escalate(h.Context(), "n:1", a, channel, []byte(payload), h.now); err != nil {
		h.Fatal(err)
	}
}

func (h *hall) matter(id string) *escalation.Escalation {
	h.Helper()
	m, err := h.bus.Matters().Find(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	return m
}

const choice = `{"question":"which?","options":["keep","drop"],"until":"2026-06-12T13:00:00.000Z","fallback":"drop","recommended":"keep"}`

// TestAnswer: a matter is answered once, by the person whom it is for, in time, and under that person's key.
func TestAnswer(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss, other := h.person("boss", "PRINCIPAL", "scope:x"), h.person("other", "AGENTS", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", choice)
	m := h.matter("evt-1")
	if m.Target != string(boss) || m.Source != "fallback-principal" || m.State(h.now) != escalation.Open || !m.For(boss) || m.For(ana) || m.For(other) {
		t.Fatalf("escalated %+v, want it for the principal of the scope", m)
	}
	answer := func(who address.Instance, said string, attended bool, now time.Time) error {
		_, err := h.bus.Answer(h.Context(), h.matter("evt-1"), h.act(who), said, "", attended, now)
		return err
	}
	for name, err := range map[string]error{
		"an agent":       answer(ana, "keep", true, h.now),
		"not attended":   answer(boss, "keep", false, h.now),
		"another person": answer(other, "keep", true, h.now),
		"no option":      answer(boss, "burn", true, h.now),
		"too late":       answer(boss, "keep", true, h.now.Add(time.Hour)),
	} {
		if err == nil {
			t.Errorf("%s: the answer was taken", name)
		}
	}
	// What an agent writes past the rules is not believed: in its own name, in that of the person without or with the wrong key.
	for n, a := range []negotiation.Act{h.act(ana), {By: boss}, h.act(other)} {
		_, err := h.bus.Negotiations().Note(h.Context(), "n:1", a, "event", "PRINCIPAL", m.AnswerBody("keep", ""), h.now)
		if err != nil {
			t.Logf("forgery %d was not even written: %v", n, err)
		}
	}
	if m = h.matter("evt-1"); m.Answer != nil {
		t.Errorf("believed: %+v", m.Answer)
	}
	if _, err := h.bus.Negotiations().Note(h.Context(), "n:1", h.act(ana), "event", "CONDUCTOR", m.LapseBody(), h.now); err != nil {
		t.Fatal(err)
	}
	if m = h.matter("evt-1"); m.State(h.now) != escalation.Open {
		t.Errorf("an agent ended it early: %s", m.State(h.now))
	}
	if err := answer(boss, "Keep", true, h.now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := answer(boss, "drop", true, h.now.Add(2*time.Minute)); !errors.Is(err, escalation.ErrClosed) {
		t.Errorf("a second answer: %v", err)
	}
	if m = h.matter("evt-1"); m.Outcome(h.now.Add(9*time.Hour)) != "keep" || m.Answer.By != boss {
		t.Errorf("in the end %q by %+v", m.Outcome(h.now), m.Answer)
	}
}

// TestLapse: without an answer the fall-back applies from the end on, and is recorded once.
func TestLapse(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", choice)
	h.escalate(ana, "evt-2", "alert", `"it is late"`)
	if m := h.matter("evt-1"); m.Target != "" || !m.For("human:anybody:000000000009") {
		t.Errorf("want no target: %+v", m)
	}
	ends := &escalation.Ends{}
	if done, problems, err := h.bus.Settle(h.Context(), h.act(ana), ends, h.now); err != nil || len(done)+len(problems) != 0 {
		t.Errorf("before its end: %v, %v, %v", done, problems, err)
	}
	if got := envelope.Stamp(ends.Next()); got != "2026-06-12T13:00:00.000Z" {
		t.Errorf("the first end is %s", got)
	}
	// An entry that says so too early is not what is recorded in the end.
	if _, err := h.bus.Negotiations().Note(h.Context(), "n:1", h.act(ana), "event", "CONDUCTOR", h.matter("evt-1").LapseBody(), h.now); err != nil {
		t.Fatal(err)
	}
	later := h.now.Add(2 * time.Hour)
	if m := h.matter("evt-1"); m.Outcome(later) != "drop" {
		t.Errorf("after its end %q applies, want drop", m.Outcome(later))
	}
	for n, want := range []int{1, 0} {
		if done, problems, err := h.bus.Settle(h.Context(), h.act(bob), ends, later); err != nil || len(problems) > 0 || len(done) != want {
			t.Errorf("settled %d: %v, %v, %v, want %d", n, done, problems, err, want)
		}
	}
	if !ends.Next().IsZero() {
		t.Errorf("the next end is %s, want none", ends.Next())
	}
	v, err := h.bus.Negotiations().Verify(h.Context(), "n:1", later)
	if err != nil || !strings.Contains(fmt.Sprint(v.OK()), "true") {
		t.Errorf("the journal afterwards: %+v, %v", v, err)
	}
	if _, err := h.bus.Escalate(h.Context(), "n:1", h.act(ana), "decide", []byte(`{"question":"q","options":["a","b"],"until":"2026-06-12T13:00:00.000Z"}`), h.now); err == nil {
		t.Error("an end without a fall-back was taken")
	}
}

// TestLapseUnderASeal: a question without an answer in time is recorded by a program without a key, in a negotiation with a sealed opening.
func TestLapseUnderASeal(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana := h.enter("ana", "AGENTS")
	m, err := h.bus.Ask(t.Context(), h.act(ana), "scope:x", escalation.Terms{
		Question: "tabs?", Options: []escalation.Option{{ID: "yes"}, {ID: "no"}}, Until: h.now.Add(time.Hour), Fallback: "no",
	}, h.now)
	if err != nil {
		t.Fatal(err)
	}
	later := h.now.Add(2 * time.Hour)
	done, problems, err := h.bus.Settle(t.Context(), negotiation.Act{By: "tutti:up:0123456789ab"}, &escalation.Ends{}, later)
	if err != nil || len(problems) > 0 || len(done) != 1 {
		t.Fatalf("settled: %v, %v, %v", done, problems, err)
	}
	if m, err = h.bus.Escalation(t.Context(), m.Negotiation, m.ID); err != nil || !m.Recorded || m.Outcome(later) != "no" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRoutedByPlan: the enforcement plan that was agreed on for the scope decides the route; one that is only stored does not.
func TestRoutedByPlan(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss, judge := h.person("boss", "PRINCIPAL", "scope:x"), h.person("judge", "CONTROL", "scope:x")
	plan := fmt.Sprintf(`{"kind":"ENFORCEMENT_PLAN","id":"p:1","scope":"scope:x","controls":[],"triggers":[],"escalations":[
		{"trigger":"quality","target":%q,"channel":"decide","authorityKind":"CONTROL"}]}`, judge)
	record := fmt.Appendf(nil, `{"id":"n:plan","scope":"scope:x","parties":[%q,%q],"subject":"policy","requiredSigners":[%q]}`, ana, boss, boss)
	if _, err := h.bus.Open(h.Context(), record, h.act(ana), h.now); err != nil {
		t.Fatal(err)
	}
	n := h.bus.Negotiations()
	if _, err := n.Offer(h.Context(), "n:plan", h.act(ana), negotiation.Offering{Artifact: []byte(plan), Force: true}, h.now); err != nil {
		t.Fatal(err)
	}
	h.open(ana, bob)
	h.escalate(ana, "evt-before", "decide", `{"question":"q","trigger":"quality"}`)
	if m := h.matter("evt-before"); m.Target != string(boss) {
		t.Errorf("by an unsigned plan: %s", m.Target)
	}
	if _, err := n.Sign(h.Context(), "n:plan", h.act(boss), "", h.now); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Stabilize(h.Context(), "n:plan", h.act(ana), h.now); err != nil {
		t.Fatal(err)
	}
	h.escalate(ana, "evt-1", "decide", `{"question":"q","trigger":"quality"}`)
	if m := h.matter("evt-1"); m.Target != string(judge) || m.Authority != "CONTROL" || m.Source != "enforcement-plan" {
		t.Errorf("routed to %s as %s by %s, want the judge", m.Target, m.Authority, m.Source)
	}
	h.escalate(ana, "evt-2", "alert", `{"question":"q","trigger":"quality"}`)
	if m := h.matter("evt-2"); m.Target != string(boss) {
		t.Errorf("what the plan has no way for went to %s, want the principal", m.Target)
	}
}

// TestEscalationGoesToPerson: an agent that is registered as PRINCIPAL could not answer, and is passed over.
func TestEscalationGoesToPerson(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, chief := h.enter("ana", "CONDUCTOR"), h.enter("chief", "PRINCIPAL")
	h.open(ana, chief)
	h.escalate(ana, "evt-1", "decide", choice)
	m := h.matter("evt-1")
	if to, err := h.bus.Recipients(h.Context(), m); m.Target != "" || len(to) != 0 || err != nil {
		t.Errorf("it is for %q, and %v are notified, %v", m.Target, to, err)
	}
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	if err := h.bus.Matters().May(h.Context(), m, boss, true); err != nil {
		t.Errorf("no person may answer: %v", err)
	}
	h.escalate(ana, "evt-2", "decide", choice)
	m = h.matter("evt-2")
	if to, err := h.bus.Recipients(h.Context(), m); m.Target != string(boss) || len(to) != 1 || to[0] != boss || err != nil {
		t.Errorf("it is for %q, and %v are notified, %v", m.Target, to, err)
	}
}
