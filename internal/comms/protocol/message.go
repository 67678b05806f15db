package protocol

import (
	"fmt"
	"strings"
	"time"

	"tutti/internal/core/orgfile"
)

// A Message is what a header says, field by field. A field whose value is missing or wrong has its zero value.
type Message struct {
	Title           string
	Conversation    string // a slug
	Type            Type   // one of the seven
	Sequence        int    // from 1
	Time            time.Time
	Timestamp       string // the same as written in the header
	Version         string
	Tools           []string // REQUIRES_TOOLS, as they stand
	ReleaseStatus   string   // one of ReleaseStatuses
	WorkflowVersion string   // a note; nothing acts on it
	From, To        string   // as they stand; see ParseAddress
	InReplyTo       int      // the sequence that is answered; 0: not said
	Response        string   // Revise or Insist on the answer to a pushback; "": not said
}

// A Problem is why a header is refused.
type Problem struct {
	Code   string // "missing_field:TITLE", "bad_sequence"
	Key    string // of the line at fault; "": of none
	Detail string // in words, without text of the message
}

func (p Problem) String() string { return p.Detail }

// required are the keys that every message has, in the order in which their absence is reported.
var required = [...]string{
	orgfile.Title, orgfile.ConversationID, orgfile.MessageType, orgfile.Sequence, orgfile.Timestamp,
	orgfile.ProtocolVersion,
}

// Read returns the fields of a header, with what is wrong with them: first what is missing, then what has a wrong value. Notes
// are warnings about fields that are there and say nothing; those that belong to other readers' versions of the protocol are of
// this kind, because only we know them. The version is returned and not judged. An optional field without a value counts as
// absent.
func Read(h orgfile.Header) (m Message, problems []Problem, notes []string) {
	value := func(key string) string {
		v, _ := h.Get(key)
		return v
	}
	for _, key := range required {
		if value(key) == "" {
			problems = append(problems, Problem{CodeMissingField + ":" + key, key, "the header has no " + key})
		}
	}
	bad := func(code, key, why string) {
		problems = append(problems, Problem{code, key, key + " " + why})
	}
	m.Title, m.Version, m.WorkflowVersion = value(orgfile.Title), value(orgfile.ProtocolVersion), value(orgfile.WorkflowVersion)
	m.From, m.To, m.Timestamp = value(orgfile.From), value(orgfile.To), value(orgfile.Timestamp)
	if tools := value(orgfile.RequiresTools); tools != "" {
		m.Tools = Tools(tools)
	}
	if v := value(orgfile.ConversationID); v != "" {
		if m.Conversation = v; !Slug(v) {
			m.Conversation = ""
			bad(CodeBadConversation, orgfile.ConversationID, fmt.Sprintf("is not made of small letters, digits and single hyphens, at most %d of them", MaxSlug))
		}
	}
	if v := value(orgfile.MessageType); v != "" {
		if m.Type = Type(v); !m.Type.Valid() {
			m.Type = ""
			bad(CodeBadType, orgfile.MessageType, "is none of the seven types, in small letters")
		}
	}
	if v := value(orgfile.Sequence); v != "" {
		var ok bool
		if m.Sequence, ok = number(v); !ok {
			bad(CodeBadSequence, orgfile.Sequence, "is not a number from 1 on, of digits only, at most nine of them")
		}
	}
	if m.Timestamp != "" {
		var ok bool
		if m.Time, ok = ParseTime(m.Timestamp); !ok {
			bad(CodeBadTimestamp, orgfile.Timestamp, "is not a time like 2006-01-02T15:04:05-07:00, with the offset from UTC")
		}
	}
	if m.Sequence == 1 && m.Type != "" && m.Type != Request {
		notes = append(notes, WarnFirstSequence)
	}
	notes = m.release(value(orgfile.ReleaseStatus), notes, bad)
	return m, problems, m.own(value(orgfile.InReplyTo), value(orgfile.PushbackResponse), notes)
}

// release reads RELEASE_STATUS, which says something on a release only.
func (m *Message) release(v string, notes []string, bad func(code, key, why string)) []string {
	switch {
	case m.Type == Release && v == "":
		return append(notes, WarnReleaseMissing)
	case m.Type == Release:
		for _, s := range ReleaseStatuses() {
			if v == s {
				m.ReleaseStatus = v
				return notes
			}
		}
		bad(CodeBadReleaseStatus, orgfile.ReleaseStatus, "is none of "+strings.Join(ReleaseStatuses(), ", "))
	case m.Type != "" && v != "":
		return append(notes, WarnReleaseIgnored)
	}
	return notes
}

// own reads the two fields that other programs do not know: what is wrong with them refuses no message.
func (m *Message) own(reply, response string, notes []string) []string {
	if reply != "" {
		var ok bool
		if m.InReplyTo, ok = number(reply); !ok {
			notes = append(notes, WarnInReplyToIgnored)
		}
	}
	switch {
	case response == "":
	case m.Type == Request && (response == Revise || response == Insist):
		m.Response = response
	default:
		notes = append(notes, WarnResponseIgnored)
	}
	return notes
}

// number reads a sequence: digits only, from 1 on, at most nine of them.
func number(s string) (int, bool) {
	if s == "" || len(s) > 9 {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, n >= 1
}

// Tools splits the value of REQUIRES_TOOLS, at commas and blanks. What stands in it twice is there once.
func Tools(value string) []string {
	var list []string
	for tool := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		twice := false
		for _, had := range list {
			twice = twice || had == tool
		}
		if !twice {
			list = append(list, tool)
		}
	}
	return list
}

// ToolName reports whether a word can be the name of a tool at all. One with a slash cannot: a message may ask for a
// program on PATH, not for a file.
func ToolName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte("._+:-", c) >= 0:
		default:
			return false
		}
	}
	return true
}
