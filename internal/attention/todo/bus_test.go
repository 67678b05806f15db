package todo

import (
	"fmt"
	"slices"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestMore: escalations beyond the limit of one list wait for a person, and for no agent.
func TestMore(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	for n := range 10_002 {
		line := fmt.Appendf(nil, `{"id":"evt-%d","type":"escalate","actor":{"instance":"codex:x:000000000001"},"body":{"kind":"escalation","channel":"decide","payload":"q"},"negotiationId":"n:1"}`, n)
		if _, err := s.Append(t.Context(), store.Key{Kind: store.Journal, Name: address.Segment("n:1")}, store.AnyEnd, line); err != nil {
			t.Fatal(err)
		}
	}
	b := &Bus{Agreements: agreement.New(s, registry.New(s)), Store: s}
	for who, want := range map[address.Instance]bool{"human:ana:0123456789ab": true, "claude:a:000000000001": false} {
		all, err := b.matters(t.Context(), who, noon)
		if got := slices.ContainsFunc(all, func(i Item) bool { return i.ID == "more" }); err != nil || got != want {
			t.Errorf("%s sees %v, %v, want %v", who, got, err, want)
		}
	}
}

// TestAnswers: a person chooses one of the options of a question, whose ids are none that screens have keys for. An agent only looks.
func TestAnswers(t *testing.T) {
	t.Parallel()
	by := address.Instance("claude:api:3f2a9c01b7de")
	m := &escalation.Escalation{ID: "evt-1", By: by, Negotiation: negotiation.QuestionsOf(by)}
	ids := func(person bool) (all []string) {
		for _, a := range answers(m, person) {
			all = append(all, a.ID)
		}
		return all
	}
	if got := ids(true); !slices.Equal(got, []string{"answer", "show"}) {
		t.Errorf("a question without options: %v", got)
	}
	m.Options = []escalation.Option{{ID: "approve", Text: "yes"}, {ID: "deny", Text: "no"}}
	if got := ids(true); !slices.Equal(got, []string{"option-1", "option-2", "show"}) {
		t.Errorf("a question with options: %v", got)
	}
	if got := ids(false); !slices.Equal(got, []string{"show"}) {
		t.Errorf("for an agent: %v", got)
	}
	for _, a := range answers(m, true)[:2] {
		if o, ok := m.Option(a.Args[3]); !ok || a.Label != "Answer: "+o.Text {
			t.Errorf("%+v answers with %+v", a, o)
		}
	}
}
