// Package draft makes messages to other projects: the text of one whose header is known, and a message of a plain text, whose header is made
// from the state of the conversation.
//
// What cannot be known is a *[MissingError], which names what the author has to say and a likely answer; nothing is guessed that would
// change the meaning of a message. Signing and delivering belong to package exchange, and the rules of a header to package protocol.
package draft

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/core/termsafe"
)

// A Draft is a message as its author writes it.
type Draft struct {
	Conversation  string
	Title         string
	Type          protocol.Type
	Sequence      int
	Timestamp     string // or [protocol.TimeOfSend]
	ReleaseStatus string // of a release
	Response      string // to a pushback, of a request
	InReplyTo     string // a sequence; "": none
	Tools         string
	Body          string
}

// A Printed is a draft that is not in a file.
type Printed struct {
	Draft string `json:"draft"`
}

// A Written is the file of a draft.
type Written struct {
	Path         string        `json:"path"`
	Conversation string        `json:"conversation_id"`
	Type         protocol.Type `json:"message_type"`
	Sequence     int           `json:"sequence"`
}

// Text is the draft as a file.
func (d *Draft) Text() []byte {
	var b strings.Builder
	const always = 6 // fields
	for n, f := range []orgfile.Field{
		{Key: orgfile.Title, Value: d.Title},
		{Key: orgfile.ConversationID, Value: d.Conversation},
		{Key: orgfile.MessageType, Value: string(d.Type)},
		{Key: orgfile.Sequence, Value: strconv.Itoa(d.Sequence)},
		{Key: orgfile.Timestamp, Value: d.Timestamp},
		{Key: orgfile.ProtocolVersion, Value: protocol.Version},
		{Key: orgfile.ReleaseStatus, Value: d.ReleaseStatus},
		{Key: orgfile.PushbackResponse, Value: d.Response},
		{Key: orgfile.InReplyTo, Value: d.InReplyTo},
		{Key: orgfile.RequiresTools, Value: d.Tools},
	} {
		if n < always || f.Value != "" {
			b.WriteString("#+" + f.Key + ": " + f.Value + "\n")
		}
	}
	b.WriteString("\n" + d.Body)
	if d.Body != "" && !strings.HasSuffix(d.Body, "\n") {
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// Check checks a draft as send will check it, but for what only the time of sending tells. The code is that of [protocol.State.Refuses].
func (d *Draft) Check(s *protocol.State, self string, now time.Time) (code string, err error) {
	stamped, _ := protocol.Timed(d.Text(), now)
	h, err := orgfile.Parse(stamped)
	if err != nil {
		return "", err
	}
	m, problems, _ := protocol.Read(h)
	switch {
	case len(problems) > 0:
		return "", errors.New(problems[0].Detail)
	case d.Sequence == 1 && m.Type != protocol.Request:
		return "", errors.New("sequence 1 is always a request")
	}
	return s.Refuses(self, m.Type, m.Response), nil
}

// The limits on values say what is wrong with one, "" for nothing.

// BadConversation is the limit on the name of a conversation.
func BadConversation(s string) string {
	if protocol.Slug(s) {
		return ""
	}
	return fmt.Sprintf("invalid conversation name %q: use small letters, digits and single hyphens, at most %d", termsafe.Clean(s), protocol.MaxSlug)
}

// BadSequence is the limit on a sequence.
func BadSequence(s string) string {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return ""
	}
	return "a sequence is a number from 1 on"
}

// BadLine is the limit on a text in a header.
func BadLine(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "it is empty"
	case strings.ContainsAny(s, "\r\n\x00"):
		return "it has to stand on one line"
	case len(s) > orgfile.MaxValue:
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(s), orgfile.MaxValue)
	}
	return ""
}

// UsualType is the type that comes next most often: a request opens a conversation, and what follows reports.
func UsualType(t *exchange.Thread) protocol.Type {
	if fresh(t) {
		return protocol.Request
	}
	return protocol.Progress
}

// fresh tells whether a conversation begins with the next message: it has none yet, or it is over.
func fresh(t *exchange.Thread) bool { return len(t.Messages) == 0 || t.State.Terminal }

// Is tells whether a text is a draft already: it has a header with a field of one.
func Is(text string) bool {
	h, err := orgfile.Parse([]byte(text))
	return err == nil && slices.ContainsFunc([]string{orgfile.ConversationID, orgfile.MessageType, orgfile.Sequence, orgfile.ProtocolVersion}, func(key string) bool {
		_, has := h.Get(key)
		return has
	})
}

// slugWords is how many words of a text are proposed as the name of a conversation.
const slugWords = 4

// SlugOf proposes a name for a conversation.
func SlugOf(text string) string {
	words := strings.Fields(text)
	slug, ok := protocol.Slugify(strings.Join(words[:min(len(words), slugWords)], " "))
	if !ok || !protocol.Slug(slug) {
		return "question"
	}
	return slug
}
