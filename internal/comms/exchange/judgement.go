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
	orNull(&o, "project", j.Project.Name)
	orNull(&o, "sha256", j.SHA256)
	orNull(&o, "title", m.Title)
	orNull(&o, "conversation_id", m.Conversation)
	orNull(&o, "message_type", string(m.Type))
	if m.Sequence > 0 {
		o.Int("sequence", int64(m.Sequence))
	} else {
		o.Null("sequence")
	}
	orNull(&o, "timestamp", m.Timestamp)
	if m.Time.IsZero() {
		o.Null("timestamp_utc")
	} else {
		o.Str("timestamp_utc", m.Time.UTC().Format(time.RFC3339Nano))
	}
	orNull(&o, "protocol_version", m.Version)
	orNull(&o, "release_status", m.ReleaseStatus)
	orNull(&o, "sender", j.Sender)
	orNull(&o, "from", m.From)
	orNull(&o, "to", m.To)
	o.Within("signature", j.signature)
	o.Strs("missing_tools", j.MissingTools)
	o.Strs("collides_with", j.CollidesWith)
	orNull(&o, "duplicate_of", j.DuplicateOf)
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
	orNull(o, "fingerprint", j.Signature.Fingerprint)
	orNull(o, "user", j.Signature.User)
	o.Bool("bound", j.Bound)
}
