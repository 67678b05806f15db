package exchange

import (
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
)

// A SentView is what send prints with --json.
type SentView struct {
	Name         string   `json:"name"` // of the message file
	Destination  string   `json:"destination"`
	Path         *string  `json:"path"`   // of the message; null: on another machine
	Sender       string   `json:"sender"` // the address of the project
	Conversation string   `json:"conversation_id"`
	Type         string   `json:"message_type"`
	Sequence     int      `json:"sequence"` // of the message in the conversation
	SHA256       string   `json:"sha256"`
	Artifact     string   `json:"artifact,omitempty"` // the attached file
	Key          *string  `json:"key"`                // that signed; null: unsigned
	Delivered    bool     `json:"delivered"`
	Already      bool     `json:"already"` // it was there before
	DryRun       bool     `json:"dry_run"`
	Tries        int      `json:"tries"` // on another machine
	Advice       []string `json:"advice"`
	Warnings     []string `json:"warnings"` // codes
}

// View is what send prints with --json.
func (s *Sent) View() SentView {
	v := SentView{
		Name: s.Name, Destination: s.Destination, Path: render.OrNull(s.Path), Sender: s.Sender, Conversation: s.Message.Conversation,
		Type: string(s.Message.Type), Sequence: s.Message.Sequence, SHA256: s.SHA256, Key: render.OrNull(s.Key), Delivered: !s.DryRun,
		Already: s.Already, DryRun: s.DryRun, Tries: s.Tries, Advice: render.List(s.Advice), Warnings: render.List(s.Warnings),
	}
	if s.artifact != nil {
		v.Artifact = protocol.ArtifactFolder + "/" + s.artifact.Name
	}
	return v
}

// A SendErrorView is what send prints with --json when it fails.
type SendErrorView struct {
	Delivered  bool    `json:"delivered"` // false
	Exit       int     `json:"exit"`      // the exit status
	ReasonCode string  `json:"reason_code"`
	Reason     string  `json:"reason"`
	Hint       *string `json:"hint"`
	Bundle     *string `json:"bundle"` // under which the message is kept for another try
}

// View is what send prints with --json when it fails.
func (e *SendError) View() SendErrorView {
	return SendErrorView{false, int(e.Fault), e.Code, e.Error(), render.OrNull(e.Hint()), render.OrNull(e.Bundle)}
}

// A JudgementView is what recv prints with --json. What was not read before the decision is null.
type JudgementView struct {
	Decision       string         `json:"decision"` // process, dedup, query or reject
	Exit           int            `json:"exit"`     // the exit status
	ReasonCode     string         `json:"reason_code"`
	Reason         string         `json:"reason"`
	File           string         `json:"file"` // the message
	Name           string         `json:"name"` // of the message file
	Project        *string        `json:"project"`
	SHA256         *string        `json:"sha256"`
	Title          *string        `json:"title"`
	Conversation   *string        `json:"conversation_id"`
	Type           *protocol.Type `json:"message_type"`
	Sequence       *int           `json:"sequence"`      // of the message in the conversation
	Timestamp      *string        `json:"timestamp"`     // as its header has it
	TimestampUTC   *string        `json:"timestamp_utc"` // the same in UTC
	Version        *string        `json:"protocol_version"`
	ReleaseStatus  *string        `json:"release_status"`
	Sender         *string        `json:"sender"` // as the name of the file has it
	From           *string        `json:"from"`   // as the header has it
	To             *string        `json:"to"`
	Signature      SignatureView  `json:"signature"`
	MissingTools   []string       `json:"missing_tools"` // that the message asks for
	CollidesWith   []string       `json:"collides_with"` // messages of the same sequence
	DuplicateOf    *string        `json:"duplicate_of"`
	SeenBefore     bool           `json:"seen_before"`
	SuggestedReply *ReplyView     `json:"suggested_reply"`
	Artifacts      []string       `json:"artifacts,omitempty"` // attached files
	Warnings       []string       `json:"warnings"`            // codes
	ClaimedBy      string         `json:"claimed_by,omitempty"`
	ClaimedUntil   string         `json:"claimed_until,omitempty"`
}

// A SignatureView is what the signature of a message is worth.
type SignatureView struct {
	Checked     bool    `json:"checked"`
	Valid       bool    `json:"valid"`
	Fingerprint *string `json:"fingerprint"` // of the key
	User        *string `json:"user"`        // that the key names
	Bound       bool    `json:"bound"`       // signers.toml binds the key to the sender
}

// A ReplyView is the answer that recv suggests.
type ReplyView struct {
	Type     string `json:"message_type"`
	Sequence int    `json:"sequence"` // of the message in the conversation
	Text     string `json:"text"`
}

// View is what recv prints with --json.
func (j *Judgement) View() JudgementView {
	m := &j.Message
	v := JudgementView{
		Decision: string(j.Word), Exit: j.Exit(), ReasonCode: j.Code, Reason: j.Reason, File: j.File, Name: j.Name,
		Project: render.OrNull(j.Project.Name), SHA256: render.OrNull(j.SHA256), Title: render.OrNull(m.Title),
		Conversation: render.OrNull(m.Conversation), Type: render.OrNull(m.Type), Timestamp: render.OrNull(m.Timestamp),
		Version: render.OrNull(m.Version), ReleaseStatus: render.OrNull(m.ReleaseStatus), Sender: render.OrNull(j.Sender),
		From: render.OrNull(m.From), To: render.OrNull(m.To),
		Signature: SignatureView{
			j.Checked, j.Signature.Valid, render.OrNull(j.Signature.Fingerprint), render.OrNull(j.Signature.User), j.Bound,
		},
		MissingTools: render.List(j.MissingTools), CollidesWith: render.List(j.CollidesWith), DuplicateOf: render.OrNull(j.DuplicateOf),
		SeenBefore: j.SeenBefore, Artifacts: j.Artifacts, Warnings: render.List(j.Warnings),
	}
	if m.Sequence > 0 {
		v.Sequence = &m.Sequence
	}
	if !m.Time.IsZero() {
		v.TimestampUTC = render.OrNull(m.Time.UTC().Format(time.RFC3339Nano))
	}
	if r := j.Reply; r != nil {
		v.SuggestedReply = &ReplyView{string(r.Type), r.Sequence, r.Text}
	}
	if j.Code == protocol.CodeClaimed {
		v.ClaimedBy, v.ClaimedUntil = j.Holder, stampOf(j.Until)
	}
	return v
}

// A BundleView is what is on record of a message that was not delivered yet.
type BundleView struct {
	Destination string  `json:"destination"`
	Name        string  `json:"name"` // of the message file
	SHA256      string  `json:"sha256"`
	Key         string  `json:"key"` // that signs
	Tries       int     `json:"tries"`
	LastError   string  `json:"last_error"`
	FirstTry    *string `json:"first_try"` // when
	LastTry     *string `json:"last_try"`  // when
	Cause       string  `json:"cause"`     // a word for what hinders it
	From        string  `json:"from"`
	Project     string  `json:"project,omitempty"`
}

// View is what is on record of the message: the text of send.json.
func (b *Bundle) View() BundleView {
	return BundleView{
		b.Destination, b.Name, b.SHA256, b.Key, b.Tries, b.LastError, stampOrNull(b.FirstTry), stampOrNull(b.LastTry),
		string(b.Cause), b.From, b.Project,
	}
}

func stampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return render.OrNull(stampOf(t))
}
