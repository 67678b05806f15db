package escalation

import (
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// maxAbout is how much of a payload that asks no question stands for one, in bytes.
const maxAbout = 300

// About is what a matter is about, in one line: its question, else what its payload holds.
func (m *Escalation) About() string {
	if m.Question != "" {
		return m.Question
	}
	if m.Payload == nil || canonjson.IsNull(m.Payload) {
		return "it says no more"
	}
	text := string(canonjson.Compact(m.Payload))
	if s, ok := canonjson.String(m.Payload); ok {
		text = s
	}
	return termsafe.Cut(text, maxAbout)
}

// A View is an escalation for programs, its options in neutral order.
type View struct {
	ID          string      `json:"id"`
	Negotiation string      `json:"negotiationId,omitempty"`
	Channel     string      `json:"channel"` // advise, decide or alert
	State       string      `json:"state"`
	From        string      `json:"from"`
	Scope       string      `json:"scope,omitempty"`
	At          string      `json:"at,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	About       string      `json:"about"` // its question, else what its payload says
	Options     []Option    `json:"options,omitempty"`
	Target      string      `json:"target,omitempty"`        // who may answer
	Authority   string      `json:"authorityKind,omitempty"` // which role may answer
	Said        string      `json:"said,omitempty"`
	Mismatch    string      `json:"mismatch,omitempty"` // what the text and the entry say differently
	Repeats     int         `json:"repeats,omitempty"`  // later alerts of the same kind
	Doubt       string      `json:"doubt,omitempty"`    // the verdict on an answer that does not count
	DoubtKey    string      `json:"doubtKey,omitempty"` // the fingerprint of the key of that answer
	Until       string      `json:"until,omitempty"`    // when the fallback applies
	Fallback    string      `json:"fallback,omitempty"`
	Outcome     string      `json:"outcome,omitempty"` // what was decided, by an answer or by the fallback
	Answer      *AnswerView `json:"answer,omitempty"`
}

// An AnswerView is the answer to an escalation.
type AnswerView struct {
	By   string `json:"by"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
	At   string `json:"at"`
}

// View returns what programs are shown of an escalation.
func (m *Escalation) View(now time.Time) View {
	v := View{
		ID: m.ID, Negotiation: m.Negotiation, Channel: m.Channel, State: string(m.State(now)), From: string(m.By), Scope: m.Scope,
		At: stamp(m.At), Reason: m.Reason, About: m.About(), Target: m.Target, Authority: m.Authority, Said: m.Said, Mismatch: m.Mismatch(),
		Repeats: max(m.Repeats, 0), Until: stamp(m.Until), Outcome: m.Outcome(now),
	}
	if len(m.Options) > 0 {
		v.Options = m.Neutral(m.ID)
	}
	if m.Answer == nil && m.Doubt != "" {
		v.Doubt, v.DoubtKey = string(m.Doubt), m.DoubtKey.Short()
	}
	if v.Until != "" {
		v.Fallback = m.Fallback
	}
	if a := m.Answer; a != nil {
		v.Answer = &AnswerView{string(a.By), a.Text, a.Note, envelope.Stamp(a.At)}
	}
	return v
}

// stamp is a time for programs, "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return envelope.Stamp(t)
}
