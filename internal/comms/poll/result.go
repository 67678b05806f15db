package poll

import (
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
)

// An Off is a poll that looked at nothing because of a halt, or of one that was lifted.
type Off struct {
	Project string `json:"project"`
	Halted  bool   `json:"halted"`
	Cleared bool   `json:"halt_cleared,omitempty"`
	Remark  string `json:"remark"`
	Next    *int   `json:"next_poll_seconds"` // always null
}

// A Result is what a poll found.
type Result struct {
	Project  string         `json:"project"`
	Halted   bool           `json:"halted"`
	Deferred bool           `json:"deferred"`
	Until    *string        `json:"deferred_until"`
	Empty    int            `json:"empty_polls"`
	Silence  bool           `json:"tell_user_of_silence"`
	New      []News         `json:"new"`
	Open     []Conversation `json:"open"`
	GaveUp   []Ending       `json:"gave_up"`
	Next     *int           `json:"next_poll_seconds"` // null: there is nothing to poll for

	Ends time.Time `json:"-"` // of the deferral
}

// A News is one message that the agent was not told of before.
type News struct {
	Message exchange.JudgementView `json:"message"` // as recv prints it
	Surface bool                   `json:"surface"`
	Say     string                 `json:"say,omitempty"`
	Answer  string                 `json:"answer,omitempty"`    // once for each conversation
	Done    string                 `json:"when_done,omitempty"` // instead of answer, once the work is done
	In      *Conversation          `json:"conversation,omitempty"`

	Judgement *exchange.Judgement    `json:"-"`
	Talk      *overview.Conversation `json:"-"` // nil: it is in none that is known
}

// A Conversation says how a conversation stands.
type Conversation struct {
	ID          string `json:"conversation_id"`
	StateLine   string `json:"state_line"`
	Awaited     string `json:"awaited"`
	AwaitedName string `json:"awaited_project,omitempty"`
	Paused      bool   `json:"paused"`
	Overdue     bool   `json:"verification_overdue"`
	Changed     bool   `json:"changed,omitempty"`  // since the last poll
	Escalate    string `json:"escalate,omitempty"` // why the user has to decide
	Answer      string `json:"answer,omitempty"`   // what to type to take the turn
	Done        string `json:"when_done,omitempty"`

	Talk *overview.Conversation `json:"-"`
	Mine bool                   `json:"-"` // it is the turn of the project that polls
}

// An Ending is a conversation that this project gave up.
type Ending struct {
	Conversation string `json:"conversation_id"`
	To           string `json:"to"`
	Sent         bool   `json:"sent"` // the last progress went out
	Err          error  `json:"-"`    // why it did not
}

func conversation(talk *overview.Conversation) *Conversation {
	return &Conversation{
		ID: talk.ID, StateLine: talk.Line(), Awaited: string(talk.Awaited), AwaitedName: talk.AwaitedName, Paused: talk.PollingPaused,
		Overdue: talk.VerificationOverdue, Talk: talk,
	}
}

// Line says how an open conversation stands, whether it is this project's turn, and why to escalate if something asks for that.
func (v *Conversation) Line() string {
	switch {
	case v.Escalate != "":
		return v.StateLine + ": escalate, because " + v.Escalate
	case v.Mine:
		return v.StateLine + ": your turn"
	}
	return v.StateLine
}

// say is what the agent tells its user about a message, "" for one that interrupts no user.
func say(j *exchange.Judgement, work string) string {
	if work == "" {
		work = "this"
	}
	switch {
	case j.Word == protocol.Reject:
		return protocol.Refusal(j.Sender, j.Reason)
	case j.Word == protocol.Process && j.Message.Type.Surfaces() && j.Message.Type != protocol.Release:
		return protocol.Surfacing(work, j.Sender, j.Message.Type)
	}
	return ""
}
