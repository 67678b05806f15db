package agreement

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// agree lays down a plan whose ways are given, by a negotiation of its own.
func (h *hall) agree(id, ways string, by, signer address.Instance) {
	h.Helper()
	record := fmt.Appendf(nil, `{"id":%q,"scope":"scope:x","parties":[%q,%q],"subject":"policy","requiredSigners":[%q]}`, id, by, signer, signer)
	if _, err := h.bus.Open(h.Context(), record, h.act(by), h.now); err != nil {
		h.Fatal(err)
	}
	plan := fmt.Appendf(nil, `{"kind":"ENFORCEMENT_PLAN","id":"plan:%s","scope":"scope:x","controls":[],"triggers":[],"escalations":[%s]}`, id, ways)
	n := h.bus.Negotiations()
	if _, err := n.Offer(h.Context(), id, h.act(by), negotiation.Offering{Artifact: plan, Force: true}, h.now); err != nil {
		h.Fatal(err)
	}
	if _, err := n.Sign(h.Context(), id, h.act(signer), "", h.now); err != nil {
		h.Fatal(err)
	}
	if _, err := n.Stabilize(h.Context(), id, h.act(by), h.now); err != nil {
		h.Fatal(err)
	}
}

// forge writes a matter whose writer says himself whom it is for.
func (h *hall) forge(by address.Instance, id, body string) {
	h.Helper()
	a := h.act(by)
	a.EventID = id
	if _, err := h.bus.Negotiations().Note(h.Context(), "n:1", a, "escalate", "MANDATAIRE", []byte(body), h.now); err != nil {
		h.Fatal(err)
	}
}

func (h *hall) answer(who address.Instance, id, said string) error {
	_, err := h.bus.Answer(h.Context(), h.matter(id), h.act(who), said, "", true, h.now)
	return err
}

// TestRouteIsRecomputed: the rules decide the target of an escalation, and an entry that names another target is reported.
func TestRouteIsRecomputed(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss, judge, friend := h.person("boss", "PRINCIPAL", "scope:x"), h.person("judge", "CONTROL", "scope:x"), h.person("friend", "AGENTS", "scope:x")
	h.open(ana, bob)
	to := func(who address.Instance) string {
		return fmt.Sprintf(`{"kind":"escalation","channel":"decide","payload":{"question":"q"},"route":{"target":%q,"authorityKind":"PRINCIPAL","source":"enforcement-plan"}}`, who)
	}
	h.forge(ana, "evt-friend", to(friend))
	if m := h.matter("evt-friend"); m.Target != string(boss) || m.Said != string(friend) || !strings.Contains(m.Mismatch(), "its writer says it is for human:friend") {
		t.Errorf("without a plan: for %s, said %s: %q; want the principal and the mismatch", m.Target, m.Said, m.Mismatch())
	}
	if err := h.answer(friend, "evt-friend", "as ana likes"); err == nil {
		t.Error("whom the writer chose has answered")
	}
	h.forge(ana, "evt-none", `{"kind":"escalation","channel":"decide","payload":{"question":"q"}}`)
	if m := h.matter("evt-none"); m.Target != string(boss) || m.Mismatch() != "" {
		t.Errorf("an entry of other programs: for %q, %q; want the principal and no mismatch", m.Target, m.Mismatch())
	}
	h.escalate(ana, "evt-then", "decide", `{"question":"q"}`)
	if err := h.answer(boss, "evt-then", "yes"); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(time.Hour)
	h.agree("n:plan", fmt.Sprintf(`{"target":%q,"channel":"decide","authorityKind":"CONTROL"}`, judge), ana, boss)
	if m := h.matter("evt-then"); m.Target != string(boss) || m.Answer == nil || m.Mismatch() != "" {
		t.Errorf("a plan that came later: for %s, answered %v, %q; want all as it was", m.Target, m.Answer, m.Mismatch())
	}
	h.forge(ana, "evt-past-plan", to(boss))
	if m := h.matter("evt-past-plan"); m.Target != string(judge) || m.Said != string(boss) || !strings.Contains(m.Mismatch(), "by the enforcement plan") {
		t.Errorf("past the plan: for %s: %q, want the judge and the mismatch", m.Target, m.Mismatch())
	}
	if err := h.answer(boss, "evt-past-plan", "no"); err == nil {
		t.Error("past the plan: the answer was taken")
	}
	if raw := string(render.JSON(h.matter("evt-past-plan").View(h.now))); !strings.Contains(raw, `"mismatch":"its writer`) {
		t.Errorf("programs are not told: %s", raw)
	}
}

// TestForARole: an escalation that a plan routes to a role is answered by a person registered with that role.
func TestForARole(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss, judge := h.person("boss", "PRINCIPAL", "scope:x"), h.person("judge", "CONTROL", "scope:x")
	h.agree("n:plan", `{"target":"CONTROL","channel":"decide","authorityKind":"CONTROL"}`, ana, boss)
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
	if err := h.answer(boss, "evt-1", "x"); err == nil || !strings.Contains(err.Error(), "not registered as one") {
		t.Errorf("a principal: %v, want that it is for a CONTROL", err)
	}
	m := h.matter("evt-1")
	if _, err := h.bus.Negotiations().Note(h.Context(), "n:1", h.act(boss), "event", "PRINCIPAL", m.AnswerBody("x", ""), h.now); err != nil {
		t.Fatal(err)
	}
	if m = h.matter("evt-1"); m.Answer != nil {
		t.Errorf("past the rules: %+v was believed", m.Answer)
	}
	if err := h.answer(judge, "evt-1", "y"); err != nil {
		t.Error(err)
	}
}

// TestAnswerBindsToText: an answer to another matter, or to another text under the same id, is none.
func TestAnswerBindsToText(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"delete the log?","options":["yes","no"]}`)
	h.escalate(ana, "evt-2", "decide", `{"question":"delete everything?","options":["yes","no"]}`)
	one, two := h.matter("evt-1"), h.matter("evt-2")
	note := func(body []byte) {
		t.Helper()
		if _, err := h.bus.Negotiations().Note(h.Context(), "n:1", h.act(boss), "event", "PRINCIPAL", body, h.now); err != nil {
			t.Fatal(err)
		}
	}
	moved := *one
	moved.ID = two.ID
	note(moved.AnswerBody("yes", ""))
	note([]byte(`{"kind":"escalation-answer","escalation":"evt-2","answer":"yes"}`))
	edited := *two
	edited.Hash = one.Hash
	note(edited.AnswerBody("yes", ""))
	if m := h.matter("evt-2"); m.Answer != nil {
		t.Errorf("an answer to something else was believed: %+v", m.Answer)
	}
	// The second entry with an id is nothing, also when it comes from the same agent.
	h.now = h.now.Add(time.Minute)
	a := h.act(ana)
	a.EventID = "evt-2"
	if _, err := h.bus.Escalate(h.Context(), "n:1", a, "decide", []byte(`{"question":"other"}`), h.now); err == nil {
		t.Error("an id was taken twice")
	}
	stale := two
	stale.Hash = "sha256:" + strings.Repeat("0", 64)
	if _, err := h.bus.Answer(h.Context(), stale, h.act(boss), "no", "", true, h.now); err == nil {
		t.Error("an answer was written to a text that stands there no more")
	}
	if err := h.answer(boss, "evt-2", "no"); err != nil {
		t.Fatal(err)
	}
	if m := h.matter("evt-2"); m.Outcome(h.now) != "no" {
		t.Errorf("the outcome is %q", m.Outcome(h.now))
	}
}

// TestConcurrentAnswers: of many concurrent writers, one records the fallback, and one answers.
func TestConcurrentAnswers(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", choice)
	h.escalate(ana, "evt-2", "decide", `{"question":"q"}`)
	later := h.now.Add(2 * time.Hour)
	open := h.matter("evt-2")
	var wg sync.WaitGroup
	for n := range 8 {
		b := New(h.bus.store, h.bus.registry) // as another program would
		b.Persons = h.known
		wg.Go(func() {
			if _, _, err := b.Settle(h.Context(), h.act(ana), &escalation.Ends{}, later); err != nil {
				t.Errorf("settle: %v", err)
			}
		})
		wg.Go(func() { _, _ = b.Answer(h.Context(), open, h.act(boss), fmt.Sprint("answer ", n), "", true, later) })
	}
	wg.Wait()
	kinds := map[string]int{}
	m, err := h.bus.Negotiations().Material(h.Context(), "n:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries {
		k, _ := canonjson.Get(e.Body, "kind")
		s, _ := canonjson.String(k)
		kinds[s]++
	}
	if kinds[escalation.KindLapse] != 1 || kinds[escalation.KindAnswer] != 1 {
		t.Errorf("written %v, want one of each", kinds)
	}
}
