package overview

import (
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// JSON writes the survey for programs, as one object. Its first two members and what is in them have the names that other programs
// know. With conversations each project has its own.
func (s *Overview) JSON(conversations bool) []byte {
	var o canonjson.Object
	o.Str("scanned_at", protocol.FormatTime(s.At))
	o.Each("projects", len(s.Projects), func(i int) []byte { return s.Projects[i].json(conversations) })
	o.Raw("halt", haltJSON(s.Halt, s.At.Location()))
	o.Int("failed_sends", int64(s.Failed))
	o.Each("warnings", len(s.Warnings), func(i int) []byte {
		w := &s.Warnings[i]
		var o canonjson.Object
		o.OrNull("project", w.Project)
		o.Str("code", w.Code)
		o.Str("text", w.Text)
		return o.End()
	})
	return o.End()
}

func haltJSON(s halt.State, zone *time.Location) []byte {
	var o canonjson.Object
	o.Bool("active", s.Halted)
	o.OrNull("reason", s.Reason)
	if s.Since.IsZero() {
		o.Null("since")
	} else {
		o.Str("since", protocol.FormatTime(s.Since.In(zone)))
	}
	return o.End()
}

func (p *Project) json(conversations bool) []byte {
	var o canonjson.Object
	o.Str("name", p.Name)
	o.Int("pending_count", int64(p.Pending))
	if m := p.Latest; m == nil {
		o.Null("most_recent")
	} else {
		o.Within("most_recent", func(o *canonjson.Object) {
			o.Str("filename", m.Name)
			o.Int("age_seconds", int64(m.Age/time.Second))
		})
	}
	o.Int("pending_literal", int64(p.Literal))
	o.Str("path", p.Path)
	o.Int("messages", int64(p.Messages))
	if p.Err != nil {
		o.Str("error", p.Err.Error())
	}
	if conversations {
		o.Each("conversations", len(p.Conversations), func(i int) []byte { return p.Conversations[i].json() })
	}
	return o.End()
}

func (c *Conversation) json() []byte {
	var o canonjson.Object
	o.Str("id", c.ID)
	o.OrNull("partner", c.Partner)
	o.OrNull("originator", c.Originator)
	o.OrNull("receiver", c.Receiver)
	o.Bool("open", c.Open)
	o.Str("awaited", string(c.Awaited))
	o.OrNull("awaited_project", c.AwaitedName)
	o.Int("sequence", int64(c.Last.Sequence))
	o.Int("next_sequence", int64(c.NextSequence))
	o.OrNull("last_type", string(c.Last.Type))
	if c.Last.Time.IsZero() {
		o.Null("last_at")
	} else {
		o.Str("last_at", protocol.FormatTime(c.Last.Time))
	}
	o.Int("pending_count", int64(c.Waiting))
	o.OrNull("release_status", c.ReleaseStatus)
	o.Bool("verification_overdue", c.VerificationOverdue)
	o.Bool("reply_overdue", c.ReplyOverdue)
	o.Bool("stalled", c.Stalled)
	o.Bool("paused", c.PollingPaused)
	o.Bool("one_sided", c.OneSided)
	o.OrNull("next_must_be", string(c.NextMustBe))
	o.Strs("warnings", c.Warnings)
	return o.End()
}
