package agreement

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

// again writes a line behind a journal as who does not ask: a matter, unsealed or under a key.
func (h *hall) again(id string, by address.Instance, key *signature.Private, event, body string) {
	h.Helper()
	a := negotiation.Act{By: by, Key: key, EventID: event}
	if _, err := h.bus.Negotiations().Note(h.Context(), id, a, "escalate", "MANDATAIRE", []byte(body), h.now); err != nil {
		h.Fatal(err)
	}
}

// TestSameID: an escalation with the id of one in another negotiation does not make that one unanswerable.
func TestSameID(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	boss := h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	h.escalate(ana, "evt-1", "decide", `{"question":"mine?"}`)
	record := fmt.Appendf(nil, `{"id":"n:2","scope":"scope:x","parties":[%q,%q],"subject":"policy","requiredSigners":[%q]}`, bob, ana, bob)
	if _, err := h.bus.Open(t.Context(), record, negotiation.Act{By: bob}, h.now); err != nil {
		t.Fatal(err)
	}
	h.again("n:2", bob, h.keys[bob], "evt-1", `{"kind":"escalation","channel":"decide","payload":{"question":"bob's?"}}`)
	_, err := h.bus.Matters().Find(t.Context(), "evt-1")
	many, is := errors.AsType[*escalation.ManyError](err)
	if !is || strings.Join(many.Of, " ") != "n:1 n:2" {
		t.Fatalf("found %v, want that there are two, and where", err)
	}
	m, err := h.bus.Escalation(t.Context(), "n:1", "evt-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.bus.Answer(t.Context(), m, h.act(boss), "yes", "", true, h.now); err != nil {
		t.Fatal(err)
	}
	if m, err = h.bus.Escalation(t.Context(), "n:1", "evt-1"); err != nil || m.Outcome(h.now) != "yes" {
		t.Errorf("answered: %+v, %v", m, err)
	}
	if m, err = h.bus.Escalation(t.Context(), "n:2", "evt-1"); err != nil || m.Answer != nil {
		t.Errorf("the other one was answered with it: %+v, %v", m, err)
	}
}

// TestSpelling: a route of the plan holds in whatever spelling the matter asks, or the plan names whom it is for; and a channel that there is
// not makes no matter.
func TestSpelling(t *testing.T) {
	t.Parallel()
	boundtest.OneGoroutine(t)
	for name, plan := range map[string]string{
		"as it is":      "%s",
		"other case":    "HUMAN:Judge:000000000003",
		"spaces":        "  %s ",
		"a slash":       "%s/",
		"host and name": "human:judge",
		"other alias":   "Human:JUDGE/",
	} {
		h := newHall(t)
		ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
		boss, judge := h.person("boss", "PRINCIPAL", "scope:x"), h.person("judge", "CONTROL", "scope:x")
		if strings.Contains(plan, "%") {
			plan = fmt.Sprintf(plan, judge)
		}
		h.agree("n:plan", fmt.Sprintf(`{"target":%q,"channel":"decide","trigger":"quality"}`, plan), ana, boss)
		h.open(ana, bob)
		for n, body := range []string{
			`{"kind":"escalation","channel":"decide","payload":{"question":"q","trigger":"quality"}}`,
			`{"kind":"escalation","channel":" Decide","payload":{"question":"q","trigger":"QUALITY "}}`,
		} {
			id := fmt.Sprint("evt-", n)
			h.forge(ana, id, body)
			if m := h.matter(id); !m.For(judge) || m.For(boss) || m.Source != "enforcement-plan" || m.Channel != "decide" {
				t.Errorf("%s, %s: for %q by %s, want the judge alone", name, body, m.Target, m.Source)
			}
			if err := h.answer(boss, id, "x"); err == nil {
				t.Errorf("%s, %s: another person has answered", name, body)
			}
			if err := h.answer(judge, id, "x"); err != nil {
				t.Errorf("%s, %s: %v", name, body, err)
			}
		}
		h.escalate(ana, "evt-own", "decide", `{"question":"q","trigger":"quality"}`)
		if m := h.matter("evt-own"); m.Mismatch() != "" {
			t.Errorf("%s: its writer goes by the plan: %q", name, m.Mismatch())
		}
		h.forge(ana, "evt-ask", fmt.Sprintf(`{"kind":"escalation","channel":"ask","payload":{"question":"q"},"route":{"target":%q}}`, boss))
		all, problems, err := h.bus.Matters().All(t.Context())
		there := slices.ContainsFunc(all, func(m *escalation.Escalation) bool { return m.ID == "evt-ask" })
		if err != nil || there || len(problems) != 1 || !strings.Contains(problems[0].Error(), "none of advise, decide, alert") {
			t.Errorf("%s: %d matters, problems %v, %v; want the unknown channel told", name, len(all), problems, err)
		}
	}
	for _, target := range []string{" CONTROL", "control/", "Control "} {
		h := newHall(t)
		ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
		boss, judge := h.person("boss", "PRINCIPAL", "scope:x"), h.person("judge", "CONTROL", "scope:x")
		h.agree("n:plan", fmt.Sprintf(`{"target":%q,"channel":"decide"}`, target), ana, boss)
		h.open(ana, bob)
		h.escalate(ana, "evt-1", "decide", `{"question":"q"}`)
		if err := h.answer(boss, "evt-1", "x"); err == nil {
			t.Errorf("%q: a person without the role has answered", target)
		}
		if err := h.answer(judge, "evt-1", "x"); err != nil {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// counted counts how often the log of who is registered is read or searched.
type counted struct {
	*memstore.Store
	reads int
}

func (c *counted) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	if k.Kind == store.Instances {
		c.reads++
	}
	return c.Store.Read(ctx, k, from)
}

// TestRegistryReadOnce: the registry is read as often for many escalations, in many negotiations, as for one.
func TestRegistryReadOnce(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	s := &counted{Store: memstore.New(memstore.Options{})}
	h.bus = New(s, registry.New(s))
	h.bus.Persons = h.known
	ana, bob := h.enter("ana", "CONDUCTOR"), h.enter("bob", "CONDUCTOR")
	h.person("boss", "PRINCIPAL", "scope:x")
	h.open(ana, bob)
	look := func() int {
		t.Helper()
		s.reads = 0
		if _, _, err := h.bus.Matters().All(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.reads
	}
	few := 0
	for n := range 20 {
		h.forge(ana, fmt.Sprint("evt-", n), `{"kind":"escalation","channel":"decide","payload":{"question":"q"}}`)
		if n == 0 {
			few = look()
			continue
		}
		id := fmt.Sprint("n:", n+1)
		record := fmt.Appendf(nil, `{"id":%q,"scope":"scope:x","parties":[%q,%q],"subject":"policy","requiredSigners":[%q]}`, id, bob, ana, bob)
		if _, err := h.bus.Open(t.Context(), record, negotiation.Act{By: bob}, h.now); err != nil {
			t.Fatal(err)
		}
		h.again(id, bob, h.keys[bob], "evt-1", `{"kind":"escalation","channel":"decide","payload":{"question":"q"}}`)
	}
	if many := look(); many > few {
		t.Errorf("it is read %d times for many matters, %d for one", many, few)
	}
}
