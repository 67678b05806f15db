package server

import (
	"encoding/json"
	"fmt"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/store"
)

// peerNote stands beside every text of others: a model must not take it for its user's. [mail.Item.Source] is that of one message.
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

// A messageView is a message as a model is shown it: who sent it, what the signature is worth, and so much of the text.
type messageView struct {
	ID   string `json:"id"`
	From string `json:"from"`
	worth
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	Size      int    `json:"size,omitempty"` // bytes of the whole text, where it is truncated
	Next      string `json:"next,omitempty"` // the call that reads on
	*extras
}

// A worth says what the signatures of a message are worth, and whose text it is.
type worth struct {
	Verification string `json:"verification,omitempty"` // absent for a message of one's own
	Detail       string `json:"detail,omitempty"`
	AddressedTo  string `json:"addressedTo,omitempty"` // set where it was addressed to another agent
	Claims       string `json:"claims,omitempty"`      // the role that it claims without being registered with it
	Note         string `json:"note"`
}

// extras are what is known of a message beside its text.
type extras struct {
	Data     json.RawMessage `json:"data,omitempty"`     // the other members of its body
	DataSize int             `json:"dataSize,omitempty"` // bytes of these, where they are too long
	Kind     string          `json:"kind,omitempty"`     // absent: message
	Thread   string          `json:"thread,omitempty"`
	ReplyTo  string          `json:"replyTo,omitempty"`
	Via      string          `json:"via,omitempty"` // unattended: a program sent it
	Channel  bool            `json:"channel,omitempty"`
	Archived bool            `json:"archived,omitempty"`
	At       string          `json:"at"`
}

// viewOf is a message with at most so much of the text. bare leaves out what is not needed to read on.
func viewOf(item *mail.Item, limit int, bare bool) messageView {
	e := item.Envelope
	text := e.Text()
	v := messageView{ID: word(e.ID), From: name(e.Actor.Instance), worth: worthOf(item), Text: termsafe.Head(text, limit)}
	if len(v.Text) < len(text) {
		v.Truncated, v.Size, v.Next = true, len(text), readOn(e.ID, len(v.Text))
	}
	if !bare {
		v.extras = extrasOf(item)
		if len(v.Data) > maxData {
			v.Data, v.DataSize = nil, len(v.Data)
		}
	}
	return v
}

// A withheld stands in a conversation for a message that the user's settings do not let through.
type withheld struct {
	ID       string `json:"id"`
	From     string `json:"from"`
	Withheld string `json:"withheld"` // why
	At       string `json:"at"`
}

func worthOf(item *mail.Item) worth {
	if item.Key.Kind == store.Outbox {
		return worth{Note: ownNote}
	}
	v := item.Verdict
	w := worth{Verification: v.Said(), Detail: word(v.Remark()), AddressedTo: name(v.AddressedTo), Note: item.Source()}
	if v.RoleNotRegistered {
		w.Claims = word(item.Envelope.Actor.Role) + ", a role that its sender is not registered with"
	}
	return w
}

func extrasOf(item *mail.Item) *extras {
	e := item.Envelope
	x := &extras{
		Data: dataOf(e), Thread: word(e.ThreadID), ReplyTo: word(e.ReplyTo), Channel: item.Channel, Archived: item.Archived, At: word(e.CreatedAt),
	}
	if kind := e.Kind(); kind != "message" {
		x.Kind = word(kind)
	}
	if e.Via() == identity.Unattended {
		x.Via = identity.Unattended
	}
	return x
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
func fitted(item *mail.Item, limit int, around func(messageView) any) *messageView {
	limit = min(limit, len(item.Envelope.Text()))
	for bare := false; ; limit = limit * 3 / 4 {
		v := viewOf(item, limit, bare)
		switch {
		case fits(around(v)):
			return &v
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
