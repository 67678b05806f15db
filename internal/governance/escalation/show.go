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

// JSON is a matter for programs, its options in neutral order.
func (m *Escalation) JSON(now time.Time) []byte {
	var o canonjson.Object
	o.Str("id", m.ID)
	o.Opt("negotiationId", m.Negotiation)
	o.Str("channel", m.Channel)
	o.Str("state", string(m.State(now)))
	o.Str("from", string(m.By))
	o.Opt("scope", m.Scope)
	if !m.At.IsZero() {
		o.Str("at", envelope.Stamp(m.At))
	}
	o.Opt("reason", m.Reason)
	o.Str("about", m.About())
	if len(m.Options) > 0 {
		canonjson.Objects(&o, "options", m.Neutral(m.ID), func(o *canonjson.Object, one Option) {
			o.Str("id", one.ID)
			o.Str("text", one.Text)
		})
	}
	o.Opt("target", m.Target)
	o.Opt("authorityKind", m.Authority)
	o.Opt("said", m.Said)
	o.Opt("mismatch", m.Mismatch())
	if m.Repeats > 0 {
		o.Int("repeats", int64(m.Repeats))
	}
	if m.Answer == nil {
		o.Opt("doubt", string(m.Doubt))
		if m.Doubt != "" {
			o.Str("doubtKey", m.DoubtKey.Short())
		}
	}
	if !m.Until.IsZero() {
		o.Str("until", envelope.Stamp(m.Until))
		o.Opt("fallback", m.Fallback)
	}
	o.Opt("outcome", m.Outcome(now))
	if a := m.Answer; a != nil {
		o.Within("answer", func(o *canonjson.Object) {
			o.Str("by", string(a.By))
			o.Str("text", a.Text)
			o.Opt("note", a.Note)
			o.Str("at", envelope.Stamp(a.At))
		})
	}
	return o.Bytes()
}
