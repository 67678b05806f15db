package overview

import (
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
)

// A View is the overview for programs. Its first two members and what is in them have the names that other programs know.
type View struct {
	At       string            `json:"scanned_at"` // when it was made
	Projects []ProjectView     `json:"projects"`
	Halt     exchange.HaltView `json:"halt"`
	Failed   int               `json:"failed_sends"` // messages that wait for another try
	Warnings []WarningView     `json:"warnings"`
}

// A WarningView is a warning.
type WarningView struct {
	Project *string `json:"project"`
	Code    string  `json:"code"`
	Text    string  `json:"text"`
}

// A ProjectView is a project with its mailbox.
type ProjectView struct {
	Name          string             `json:"name"`
	Pending       int                `json:"pending_count"` // messages that wait
	Latest        *MessageView       `json:"most_recent"`
	Literal       int                `json:"pending_literal"` // the same, where only releases in this mailbox count
	Path          string             `json:"path"`
	Messages      int                `json:"messages"` // all in the mailbox
	Error         string             `json:"error,omitempty"`
	Conversations []ConversationView `json:"conversations,omitzero"` // with --conversations
}

// A MessageView is the latest message.
type MessageView struct {
	Name string `json:"filename"`
	Age  int64  `json:"age_seconds"`
}

// A ConversationView is a conversation.
type ConversationView struct {
	ID                  string   `json:"id"`
	Partner             *string  `json:"partner"` // the other project
	Originator          *string  `json:"originator"`
	Receiver            *string  `json:"receiver"`
	Open                bool     `json:"open"`
	Awaited             string   `json:"awaited"`         // who is to write next
	AwaitedProject      *string  `json:"awaited_project"` // the project that is to write next
	Sequence            int      `json:"sequence"`        // of the last message
	NextSequence        int      `json:"next_sequence"`
	LastType            *string  `json:"last_type"`
	LastAt              *string  `json:"last_at"`
	Pending             int      `json:"pending_count"` // messages that wait
	ReleaseStatus       *string  `json:"release_status"`
	VerificationOverdue bool     `json:"verification_overdue"`
	ReplyOverdue        bool     `json:"reply_overdue"`
	Stalled             bool     `json:"stalled"`
	Paused              bool     `json:"paused"`
	OneSided            bool     `json:"one_sided"`    // only one direction of it is known
	NextMustBe          *string  `json:"next_must_be"` // the type of the next message
	Warnings            []string `json:"warnings"`
}

// View returns the overview for programs. With conversations each project has its own.
func (s *Overview) View(conversations bool) View {
	return View{
		At: protocol.FormatTime(s.At), Halt: exchange.ViewHalt(s.Halt, s.At.Location()), Failed: s.Failed,
		Projects: render.Each(s.Projects, func(p *Project) ProjectView { return p.view(conversations) }),
		Warnings: render.Each(s.Warnings, func(w Warning) WarningView { return WarningView{render.OrNull(w.Project), w.Code, w.Text} }),
	}
}

func (p *Project) view(conversations bool) ProjectView {
	v := ProjectView{Name: p.Name, Pending: p.Pending, Literal: p.Literal, Path: p.Path, Messages: p.Messages}
	if m := p.Latest; m != nil {
		v.Latest = &MessageView{m.Name, int64(m.Age / time.Second)}
	}
	if p.Err != nil {
		v.Error = p.Err.Error()
	}
	if conversations {
		v.Conversations = render.Each(p.Conversations, Conversation.view)
	}
	return v
}

func (c Conversation) view() ConversationView {
	v := ConversationView{
		ID: c.ID, Partner: render.OrNull(c.Partner), Originator: render.OrNull(c.Originator), Receiver: render.OrNull(c.Receiver),
		Open: c.Open, Awaited: string(c.Awaited), AwaitedProject: render.OrNull(c.AwaitedName), Sequence: c.Last.Sequence, NextSequence: c.NextSequence,
		LastType: render.OrNull(string(c.Last.Type)), Pending: c.Waiting, ReleaseStatus: render.OrNull(c.ReleaseStatus),
		VerificationOverdue: c.VerificationOverdue, ReplyOverdue: c.ReplyOverdue, Stalled: c.Stalled, Paused: c.PollingPaused, OneSided: c.OneSided,
		NextMustBe: render.OrNull(string(c.NextMustBe)), Warnings: render.List(c.Warnings),
	}
	if !c.Last.Time.IsZero() {
		v.LastAt = new(protocol.FormatTime(c.Last.Time))
	}
	return v
}
