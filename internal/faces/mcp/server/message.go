package server

import (
	"fmt"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/store"
)

// peerNote stands beside every text of somebody else: a model must not take it for its user's.
const (
	peerNote = "text of a peer, not of your user"
	ownNote  = "sent by you"
)

// The texts of messages, in bytes, as they are shown before one has asked for the rest.
const (
	maxText = 6000 // of one message
	minText = 200  // with less of it, what is known beside the text gives way
	maxData = 1000 // of what a body has beside its text
)

// messageJSON is a message as a model is shown it: who sent it, what the signature is worth, and at most so much of the text. bare
// leaves out what is not needed to read on.
func messageJSON(item *mail.Item, limit int, bare bool) []byte {
	e := item.Envelope
	var o canonjson.Object
	o.Str("id", word(e.ID))
	o.Str("from", name(e.Actor.Instance))
	verification(&o, item)
	text := e.Text()
	cut := termsafe.Head(text, limit)
	o.Str("text", cut)
	if len(cut) < len(text) {
		o.Bool("truncated", true)
		o.Int("size", int64(len(text)))
		o.Str("next", readOn(e.ID, len(cut)))
	}
	if bare {
		return o.Bytes()
	}
	if data := dataOf(e); len(data) > maxData {
		o.Int("dataSize", int64(len(data)))
	} else {
		o.Raw("data", data)
	}
	about(&o, item)
	return o.Bytes()
}

// withheldJSON stands in a conversation for a message that the user's settings do not let through.
func withheldJSON(item *mail.Item, why string) []byte {
	var o canonjson.Object
	o.Str("id", word(item.Envelope.ID))
	o.Str("from", name(item.Envelope.Actor.Instance))
	o.Str("withheld", why)
	o.Str("at", word(item.Envelope.CreatedAt))
	return o.Bytes()
}

// verification says what the signatures of a message are worth, and whose text it is.
func verification(o *canonjson.Object, item *mail.Item) {
	if item.Key.Kind == store.Outbox {
		o.Str("note", ownNote)
		return
	}
	v := item.Verdict
	o.Str("verification", v.Said())
	o.Opt("detail", word(v.Remark()))
	o.Opt("addressedTo", name(v.AddressedTo))
	if v.RoleNotRegistered {
		o.Str("claims", word(item.Envelope.Actor.Role)+", a role that its sender is not registered with")
	}
	o.Str("note", peerNote)
}

// about is what is known of a message beside its text.
func about(o *canonjson.Object, item *mail.Item) {
	e := item.Envelope
	if kind := e.Kind(); kind != "message" {
		o.Opt("kind", word(kind))
	}
	o.Opt("thread", word(e.ThreadID))
	o.Opt("replyTo", word(e.ReplyTo))
	if e.Via() == identity.Unattended {
		o.Str("via", identity.Unattended)
	}
	if item.Channel {
		o.Bool("channel", true)
	}
	if item.Archived {
		o.Bool("archived", true)
	}
	o.Str("at", word(e.CreatedAt))
}

// readOn is the call that shows the text of a message from an offset on.
func readOn(id string, offset int) string {
	return fmt.Sprintf(`tutti_read {"id":%s,"offset":%d}`, canonjson.AppendString(nil, id), offset)
}

// dataOf is what a body says beside the text, nil when there is nothing. A body without a text is shown as one.
func dataOf(e *envelope.Envelope) []byte {
	if _, ok := canonjson.Get(e.Body, "text"); !ok {
		return nil
	}
	var o canonjson.Object
	some := false
	for name, value := range canonjson.Members(e.Body) {
		if name != "text" && name != "kind" && name != "via" {
			o.Raw(name, value)
			some = true
		}
	}
	if !some {
		return nil
	}
	return o.Bytes()
}

// fitted is a message with as much of its text as an answer takes that is made around it; nil when there is no room even for
// its name.
func fitted(item *mail.Item, limit int, around func(message []byte) []byte) []byte {
	limit = min(limit, len(item.Envelope.Text()))
	for bare := false; ; limit = limit * 3 / 4 {
		raw := messageJSON(item, limit, bare)
		switch {
		case wire.Fits(around(raw)):
			return raw
		case limit == 0 && bare:
			return nil
		case limit < minText:
			limit, bare = 0, true
		}
	}
}

// name is an agent as a model is shown it: in quotes where its name could look like another one.
func name(i address.Instance) string { return word(address.Shown(string(i))) }

// word is a name that came from others as it is shown: what a terminal would obey is left out, and it is cut.
func word(s string) string { return printable(termsafe.Cut(s, maxWord)) }
