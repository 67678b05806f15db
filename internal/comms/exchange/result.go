package exchange

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// A Sent is what became of a letter.
type Sent struct {
	Name         string
	Destination  string // as it was resolved
	Path         string // of the message, on this machine; "" on another one
	Sender       string
	SHA256       string
	Key          string // that signed, "" unsigned
	KeySource    string // where the key was named
	Message      protocol.Message
	Already      bool // the same bytes were there
	DryRun       bool
	Tries        int // on another machine
	Swept        int // temporary files of dead sends that were removed
	Advice       []string
	Warnings     []string // codes of package conversation and of this one
	WarningTexts []string // what to tell people, with the facts

	draft    []byte // with its time
	stamped  bool   // by this send
	artifact *Artifact
}

// The warnings of a send beside those of package conversation.
const (
	WarnMailboxWide = "mailbox_mode"    // others can read or write the mailbox
	WarnPeerHalted  = "peer_halted"     // its mailbox fills, it has no reader
	WarnSentRecord  = "sent_unwritable" // the record of sends misses this one
	WarnPeersBroken = "peers_malformed" // only this machine can be reached
	WarnGuessed     = "machine_guessed" // an unknown machine was taken for this one
	WarnOneSided    = "one_sided"       // only one direction of the conversation is known
	WarnUnstamped   = "draft_unstamped" // the draft does not have the time of the message
	WarnBundleLeft  = "bundle_left"     // the message is delivered and its bundle could not be removed
)

func (s *Sent) warn(code, text string) {
	s.Warnings = append(s.Warnings, code)
	s.WarningTexts = append(s.WarningTexts, text)
}

// JSON is what send prints with --json.
func (s *Sent) JSON() []byte {
	var o canonjson.Object
	o.Str("name", s.Name)
	o.Str("destination", s.Destination)
	o.OrNull("path", s.Path)
	o.Str("sender", s.Sender)
	o.Str("conversation_id", s.Message.Conversation)
	o.Str("message_type", string(s.Message.Type))
	o.Int("sequence", int64(s.Message.Sequence))
	o.Str("sha256", s.SHA256)
	if s.artifact != nil {
		o.Str("artifact", protocol.ArtifactFolder+"/"+s.artifact.Name)
	}
	o.OrNull("key", s.Key)
	o.Bool("delivered", !s.DryRun)
	o.Bool("already", s.Already)
	o.Bool("dry_run", s.DryRun)
	o.Int("tries", int64(s.Tries))
	o.Strs("advice", s.Advice)
	o.Strs("warnings", s.Warnings)
	return escaped(o.End())
}

// JSON is what send prints with --json when it fails.
func (e *SendError) JSON() []byte {
	var o canonjson.Object
	o.Bool("delivered", false)
	o.Int("exit", int64(e.Fault))
	o.Str("reason_code", e.Code)
	o.Str("reason", e.Error())
	o.OrNull("hint", e.Hint())
	o.OrNull("bundle", e.Bundle)
	return escaped(o.End())
}

// escaped writes what a terminal would act on, or not show, as JSON escapes. JSON itself asks for that below U+0020 only; and outside of
// strings there is none of it.
func escaped(raw []byte) []byte {
	if bytes.IndexFunc(raw, termsafe.Unsafe) < 0 {
		return raw
	}
	out := make([]byte, 0, 2*len(raw))
	for _, r := range string(raw) {
		switch {
		case !termsafe.Unsafe(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
