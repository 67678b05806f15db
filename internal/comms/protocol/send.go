package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/core/orgfile"
)

// A Draft is what is to be sent, and the circumstances.
type Draft struct {
	Text       []byte
	Sender     string    // the slug of the sending project
	Now        time.Time // in the zone in which a new time is written
	From       Address   // this project on this machine
	To         Address   // the destination, as it is called here
	ToMachines []string  // further names of its machine, which a TO in the draft may have

	Restamp       bool // TIMESTAMP becomes now
	KeepTimestamp bool // TIMESTAMP may be as far from now as it likes
	NoEnvelope    bool // FROM and TO are not added
	Strict        bool // a release that ends nothing is refused

	// State returns what is known of a conversation; nil: nothing is.
	State func(conversation string) State
}

// An Outgoing is a message as it is signed and delivered.
type Outgoing struct {
	Name     string
	Text     []byte
	SHA256   string // of Text, in hexadecimal
	Message  Message
	Advice   []string // sentences for the author, who decides
	Warnings []string // codes, sorted
}

// TimeOfSend stands in the TIMESTAMP of a draft that gets its time when it is sent.
const TimeOfSend = "now"

// Timed writes the time into a draft that has TimeOfSend in its place, and tells whether it had.
func Timed(draft []byte, now time.Time) ([]byte, bool) {
	h, err := orgfile.Parse(draft)
	if err != nil {
		return draft, false
	}
	f, ok := h.Field(orgfile.Timestamp)
	if !ok || f.Value != TimeOfSend {
		return draft, false
	}
	return orgfile.Replace(draft, f, FormatTime(now)), true
}

// Prepare makes a message of a draft: the header is checked as the receiver will check it, and by the rules for the writer;
// FROM and TO are added behind it, and the name is made. All problems are returned that are found at one go; with any the
// message is not to be sent. The same draft gives the same bytes as long as nothing in it is rewritten: a repeated send can be
// seen to be one.
func Prepare(d Draft) (Outgoing, []Problem) {
	text := d.Text
	h, err := orgfile.Parse(text)
	if err == nil && d.Restamp {
		if f, ok := h.Field(orgfile.Timestamp); ok {
			text = orgfile.Replace(text, f, FormatTime(d.Now))
			h, err = orgfile.Parse(text)
		}
	}
	if err != nil {
		return Outgoing{}, []Problem{{Code: Code(err), Detail: err.Error()}}
	}
	out := Outgoing{Text: text}
	m, problems, notes := Read(h)
	out.Message = m
	problems = append(problems, d.rules(&out, notes)...)
	if len(problems) > 0 {
		return Outgoing{Message: m}, problems
	}
	if !d.NoEnvelope {
		if out.Text, err = d.wrap(text, h); err != nil {
			return Outgoing{Message: m}, []Problem{{Code: Code(err), Detail: err.Error()}}
		}
		h, _ = orgfile.Parse(out.Text) // wrap has looked at it
		out.Message, _, _ = Read(h)
		if a, ok := ParseAddress(out.Message.To); !ok || a.Project != d.To.Project || !speaksFor(out.Message.From, d.Sender) {
			return Outgoing{Message: m}, []Problem{{Code: CodeBadSender, Detail: fmt.Sprintf("%s and %s are not both names of a project on a machine", d.From, d.To)}}
		}
	}
	if out.Name, err = FormatName(m.Time, d.Sender, m.Conversation); err != nil {
		return Outgoing{Message: m}, []Problem{{Code: Code(err), Detail: err.Error()}}
	}
	sum := sha256.Sum256(out.Text)
	out.SHA256 = hex.EncodeToString(sum[:])
	slices.Sort(out.Warnings)
	out.Warnings = slices.Compact(out.Warnings)
	return out, nil
}

// rules are those that go beyond a header that can be read. A receiver is milder in some.
func (d *Draft) rules(out *Outgoing, notes []string) []Problem {
	var list []Problem
	m := &out.Message
	bad := func(code, key, detail string) { list = append(list, Problem{code, key, detail}) }
	if m.Version != "" && m.Version != Version {
		bad(CodeVersionMismatch, orgfile.ProtocolVersion, "PROTOCOL_VERSION is not "+Version)
	}
	for _, note := range notes {
		switch note {
		case WarnFirstSequence:
			bad(CodeFirstSequence, orgfile.Sequence, "sequence 1 is always a request")
		case WarnReleaseMissing:
			bad(CodeMissingField+":"+orgfile.ReleaseStatus, orgfile.ReleaseStatus, "a release says in RELEASE_STATUS how it ends")
		case WarnInReplyToIgnored:
			bad(CodeBadInReplyTo, orgfile.InReplyTo, "IN_REPLY_TO is not a sequence")
		case WarnResponseIgnored:
			bad(CodeBadPushbackResponse, orgfile.PushbackResponse, "PUSHBACK_RESPONSE is revise or insist, on a request")
		default:
			out.Warnings = append(out.Warnings, note)
		}
	}
	if !m.Time.IsZero() && !d.KeepTimestamp {
		if drift := d.Now.Sub(m.Time).Abs(); drift > MaxDrift {
			bad(CodeStale, orgfile.Timestamp, "TIMESTAMP is "+span(drift)+" away from the clock")
		}
	}
	if !Slug(d.Sender) {
		bad(CodeBadSender, "", slugFault("the sender", d.Sender))
	}
	if m.From != "" && !speaksFor(m.From, d.Sender) {
		bad(CodeSenderMismatch, orgfile.From, "FROM names another project than the sender, "+d.Sender)
	}
	if m.To != "" && !d.goesTo(m.To) {
		bad(CodeWrongRecipient, orgfile.To, "TO is not the destination, "+d.To.String())
	}
	if d.State != nil && m.Conversation != "" {
		list = append(list, d.turn(out, d.State(m.Conversation))...)
	}
	return list
}

func (d *Draft) goesTo(to string) bool {
	a, ok := ParseAddress(to)
	return ok && a.Project == d.To.Project && (a.Machine == d.To.Machine || slices.Contains(d.ToMachines, a.Machine))
}

// turn judges the message by the state of its conversation.
func (d *Draft) turn(out *Outgoing, s State) []Problem {
	m := &out.Message
	if m.Sequence > 0 && m.Sequence != s.NextSequence {
		out.Advice = append(out.Advice, fmt.Sprintf("SEQUENCE is %d; the next one of this conversation is %d", m.Sequence, s.NextSequence))
	}
	code := s.Refuses(d.Sender, m.Type, m.Response)
	if code == CodeCapReached {
		return []Problem{{code, orgfile.MessageType, "it was pushed back and insisted twice: the next message has to be escalate, and the user decides"}}
	}
	if d.Strict && code == WarnReleaseByReceiver {
		return []Problem{{code, orgfile.MessageType, "only the project that made the request releases it"}}
	}
	if code != "" {
		out.Warnings = append(out.Warnings, code)
	}
	return nil
}

// wrap adds FROM and TO. A line that is there and empty is filled.
func (d *Draft) wrap(text []byte, h orgfile.Header) ([]byte, error) {
	from := d.From
	if slug, _ := Slugify(from.Project); slug != d.Sender {
		from.Project = d.Sender // the receiver compares it with the name
	}
	for _, add := range []orgfile.Field{{Key: orgfile.From, Value: from.String()}, {Key: orgfile.To, Value: d.To.String()}} {
		f, there := h.Field(add.Key)
		switch {
		case !there:
			text = orgfile.Insert(text, h, add)
		case f.Value == "":
			text = orgfile.Replace(text, f, add.Value)
		default:
			continue
		}
		var err error
		if h, err = orgfile.Parse(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// span is a time as people say it.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " minutes"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " hours"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}
