package escalation

import (
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// The kinds of messages about a matter.
const (
	NoticeKind = kindMatter // to its receiver
	AnswerKind = KindAnswer // to the agent that raised it
)

// Notice is the text of a message to the receiver of a matter.
func (m *Escalation) Notice() string {
	var b strings.Builder
	what := map[string]string{"advise": "Advice is asked for", "decide": "A decision is asked for", "alert": "A warning"}[m.Channel]
	b.WriteString(what + " in " + m.Negotiation + ": " + m.About() + "\n")
	for _, o := range m.Neutral(m.ID) {
		b.WriteString("- " + o.ID)
		if o.Text != o.ID {
			b.WriteString(": " + o.Text)
		}
		b.WriteByte('\n')
	}
	if !m.Until.IsZero() {
		b.WriteString("Without an answer until " + envelope.Stamp(m.Until) + " this applies: " + m.Fallback + "\n")
	}
	b.WriteString("Answer it in a terminal: tutti answer " + m.ID)
	if m.Channel != "alert" {
		b.WriteString(" ANSWER")
	}
	return b.String()
}

// AnswerNotice is the text of a message to the agent that raised it: what was decided.
func (m *Escalation) AnswerNotice() string {
	if m.Answer == nil {
		return ""
	}
	s := "The answer to " + m.ID + " (" + termsafe.Cut(m.About(), maxAbout) + "): " + m.Answer.Text
	if m.Answer.Note != "" {
		s += "\n" + m.Answer.Note
	}
	return s
}

// NoticeBody is what programs read of a message about a matter.
func (m *Escalation) NoticeBody() []byte {
	var o canonjson.Object
	o.Str("escalation", m.ID)
	o.Str("negotiationId", m.Negotiation)
	o.Str("channel", m.Channel)
	if !m.Until.IsZero() {
		o.Str("until", envelope.Stamp(m.Until))
	}
	return o.Bytes()
}
