package exchange

import (
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
)

// JSON is what recv prints with --json. What was not learnt before the decision fell is null.
func (j *Judgement) JSON() []byte {
	m := &j.Message
	var o canonjson.Object
	o.Str("decision", string(j.Word))
	o.Int("exit", int64(j.Exit()))
	o.Str("reason_code", j.Code)
	o.Str("reason", j.Reason)
	o.Str("file", j.File)
	o.Str("name", j.Name)
	o.OrNull("project", j.Project.Name)
	o.OrNull("sha256", j.SHA256)
	o.OrNull("title", m.Title)
	o.OrNull("conversation_id", m.Conversation)
	o.OrNull("message_type", string(m.Type))
	if m.Sequence > 0 {
		o.Int("sequence", int64(m.Sequence))
	} else {
		o.Null("sequence")
	}
	o.OrNull("timestamp", m.Timestamp)
	if m.Time.IsZero() {
		o.Null("timestamp_utc")
	} else {
		o.Str("timestamp_utc", m.Time.UTC().Format(time.RFC3339Nano))
	}
	o.OrNull("protocol_version", m.Version)
	o.OrNull("release_status", m.ReleaseStatus)
	o.OrNull("sender", j.Sender)
	o.OrNull("from", m.From)
	o.OrNull("to", m.To)
	o.Within("signature", j.signature)
	o.Strs("missing_tools", j.MissingTools)
	o.Strs("collides_with", j.CollidesWith)
	o.OrNull("duplicate_of", j.DuplicateOf)
	o.Bool("seen_before", j.SeenBefore)
	if r := j.Reply; r == nil {
		o.Null("suggested_reply")
	} else {
		o.Within("suggested_reply", func(o *canonjson.Object) {
			o.Str("message_type", string(r.Type))
			o.Int("sequence", int64(r.Sequence))
			o.Str("text", r.Text)
		})
	}
	if len(j.Artifacts) > 0 {
		o.Strs("artifacts", j.Artifacts)
	}
	o.Strs("warnings", j.Warnings)
	if j.Code == protocol.CodeClaimed {
		o.Str("claimed_by", j.Holder)
		o.Str("claimed_until", stampOf(j.Until))
	}
	return escaped(o.End())
}

func (j *Judgement) signature(o *canonjson.Object) {
	o.Bool("checked", j.Checked)
	o.Bool("valid", j.Signature.Valid)
	o.OrNull("fingerprint", j.Signature.Fingerprint)
	o.OrNull("user", j.Signature.User)
	o.Bool("bound", j.Bound)
}
