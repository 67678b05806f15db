package fast

import (
	"tutti/internal/bus/follow"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// eventViews are the events that watch prints.
var eventViews = render.OneOf{watchingEvent{}, mailEvent{}, sessionEvent{}, haltedEvent{}, resumedEvent{}, unfitEvent{}}

// An eventHead is what each event has.
type eventHead struct {
	Event follow.Kind `json:"event"`
	At    string      `json:"at"`
}

// A watchingEvent is the first event, "watching": from now on nothing is missed.
type watchingEvent struct {
	eventHead
	Mailboxes int  `json:"mailboxes"` // that are watched
	Polled    bool `json:"polled"`    // the system grants no watcher: it looks once a second
}

// A mailEvent is a message that arrived, "mail".
type mailEvent struct {
	eventHead
	ID                string           `json:"id"`
	From              address.Instance `json:"from"`
	To                address.Instance `json:"to,omitempty"`
	Mailbox           string           `json:"mailbox"` // its folder
	Role              string           `json:"role"`
	Kind              string           `json:"kind,omitempty"`
	Text              string           `json:"text"` // the first line
	Via               string           `json:"via,omitempty"`
	ThreadID          string           `json:"threadId,omitempty"`
	ReplyTo           string           `json:"replyTo,omitempty"`
	CreatedAt         string           `json:"createdAt"`
	Signature         string           `json:"signature,omitempty"`         // what its signatures are worth
	AddressedTo       address.Instance `json:"addressedTo,omitempty"`       // another agent, to which its sender addressed it
	RoleNotRegistered *bool            `json:"roleNotRegistered,omitempty"` // its sender does not have the role
}

// A sessionEvent is an agent whose session began or ended, "joined" or "left".
type sessionEvent struct {
	eventHead
	SessionID string           `json:"sessionId"`
	Instance  address.Instance `json:"instance"`
	Name      string           `json:"name,omitempty"`
	Host      string           `json:"host,omitempty"`
}

// A haltedEvent is the beginning of a halt, "halted".
type haltedEvent struct {
	eventHead
	Reason string `json:"reason,omitempty"`
	Since  string `json:"since,omitempty"`
}

// A resumedEvent is the end of a halt, "resumed".
type resumedEvent struct {
	eventHead
	Missed int `json:"missed"` // messages that came meanwhile
}

// An unfitEvent is a file in a mailbox that is not a message, "unfit".
type unfitEvent struct {
	eventHead
	Mailbox string `json:"mailbox"` // its folder
	Why     string `json:"why"`
}

// viewEvent is an event for programs.
func viewEvent(e *follow.Event) any {
	head := eventHead{e.Kind, e.At.UTC().Format(kit.JSONTime)}
	switch e.Kind {
	case follow.Watching:
		return watchingEvent{head, e.Mailboxes, e.Polled}
	case follow.Mail:
		return viewMail(head, e)
	case follow.Joined, follow.Left:
		s := e.Session
		return sessionEvent{head, string(s.SessionID), s.Instance, s.Name, s.Host}
	case follow.Halted:
		v := haltedEvent{eventHead: head, Reason: e.Reason}
		if !e.Since.IsZero() {
			v.Since = e.Since.UTC().Format(kit.JSONTime)
		}
		return v
	case follow.Resumed:
		return resumedEvent{head, e.Missed}
	}
	return unfitEvent{head, e.Mailbox, e.Err.Error()}
}

func viewMail(head eventHead, e *follow.Event) mailEvent {
	m := e.Message
	v := mailEvent{
		eventHead: head, ID: m.ID, From: m.Actor.Instance, To: m.Target, Mailbox: e.Mailbox, Role: m.Actor.Role, Kind: m.Kind(),
		Text: firstOf(m.Text()), Via: m.Via(), ThreadID: m.ThreadID, ReplyTo: m.ReplyTo, CreatedAt: m.CreatedAt,
	}
	if e.Verdict != nil {
		v.Signature, v.AddressedTo, v.RoleNotRegistered = e.Verdict.Word.String(), e.Verdict.AddressedTo, &e.Verdict.RoleNotRegistered
	}
	return v
}
