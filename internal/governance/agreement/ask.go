package agreement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/render"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// Ask puts a question of an agent to its user, who answers as any escalation is answered. The agent needs no negotiation for it: its
// questions have a journal of their own, in which nothing is agreed.
func (b *Bus) Ask(ctx context.Context, a negotiation.Act, scope string, t escalation.Terms, now time.Time) (*escalation.Escalation, error) {
	if t.Question == "" {
		return nil, &negotiation.RefusedError{Why: []string{"the question is empty"}}
	}
	id := negotiation.QuestionsOf(a.By)
	party := []string{string(a.By)}
	terms := negotiation.Terms{ID: id, Scope: scope, Subject: "contract", Parties: party, RequiredSigners: party}
	_, err := b.Negotiations().Open(ctx, render.JSON(terms), negotiation.Act{By: a.By, Key: a.Key}, now)
	if err != nil && !errors.Is(err, negotiation.ErrOpen) {
		return nil, fmt.Errorf("ask: %w", err)
	}
	e, err := b.Escalate(ctx, id, a, "decide", t.Payload(nil), now)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	return b.Escalation(ctx, id, e.ID)
}

// An Asked is a question to the user as --json and MCP show it.
type Asked struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
	State    string   `json:"state"` // an escalation.State
	Answer   string   `json:"answer,omitempty"`
	Note     string   `json:"note,omitempty"`
	By       string   `json:"by,omitempty"`    // who answered
	Until    string   `json:"until,omitempty"` // RFC 3339; then the default applies
	Default  string   `json:"default,omitempty"`
	Next     string   `json:"next,omitempty"` // for a model: how the answer comes
}

// AskedOf is the current state of a question.
func AskedOf(m *escalation.Escalation, now time.Time) Asked {
	a := Asked{ID: m.ID, Question: m.Question, State: string(m.State(now)), Answer: m.Outcome(now), Default: m.Fallback}
	for _, o := range m.Options {
		a.Options = append(a.Options, o.ID)
	}
	if m.Answer != nil {
		a.By, a.Note = string(m.Answer.By), m.Answer.Note
	}
	if !m.Until.IsZero() {
		a.Until = m.Until.UTC().Format(time.RFC3339)
	}
	return a
}
