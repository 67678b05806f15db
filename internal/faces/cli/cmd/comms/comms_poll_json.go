package comms

import (
	"encoding/json"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// pollHalted is what poll prints with --json when it looked at nothing because of a halt, or of one that was lifted.
type pollHalted struct {
	Project string `json:"project"`
	Halted  bool   `json:"halted"`
	Cleared bool   `json:"halt_cleared,omitempty"`
	Remark  string `json:"remark"`
	Next    *int   `json:"next_poll_seconds"` // always null
}

// pollJSON is what poll prints with --json.
type pollJSON struct {
	Project  string       `json:"project"`
	Halted   bool         `json:"halted"`
	Deferred bool         `json:"deferred"`
	Until    *string      `json:"deferred_until"`
	Empty    int          `json:"empty_polls"`
	Silence  bool         `json:"tell_user_of_silence"`
	New      []newJSON    `json:"new"`
	Open     []talkJSON   `json:"open"`
	GaveUp   []endingJSON `json:"gave_up"`
	Next     *int         `json:"next_poll_seconds"` // null: there is nothing to poll for
}

// newJSON is one message that the agent was not told of before.
type newJSON struct {
	Message      json.RawMessage `json:"message"` // as recv prints it
	Surface      bool            `json:"surface"`
	Say          string          `json:"say,omitempty"`
	Answer       string          `json:"answer,omitempty"`    // once for each conversation
	Done         string          `json:"when_done,omitempty"` // instead of answer, once the work is done
	Conversation *talkJSON       `json:"conversation,omitempty"`
}

// talkJSON says how a conversation stands.
type talkJSON struct {
	Conversation string `json:"conversation_id"`
	StateLine    string `json:"state_line"`
	Awaited      string `json:"awaited"`
	AwaitedName  string `json:"awaited_project,omitempty"`
	Paused       bool   `json:"paused"`
	Overdue      bool   `json:"verification_overdue"`
	Changed      bool   `json:"changed,omitempty"`  // since the last poll
	Escalate     string `json:"escalate,omitempty"` // why the user has to decide
	Answer       string `json:"answer,omitempty"`   // what to type to take the turn
	Done         string `json:"when_done,omitempty"`
}

// endingJSON is a conversation that this project gave up.
type endingJSON struct {
	Conversation string `json:"conversation_id"`
	To           string `json:"to"`
	Sent         bool   `json:"sent"` // the last progress went out
}

func talkOf(talk *overview.Conversation) *talkJSON {
	return &talkJSON{
		Conversation: talk.ID, StateLine: talk.Line(), Awaited: string(talk.Awaited), AwaitedName: talk.AwaitedName, Paused: talk.PollingPaused,
		Overdue: talk.VerificationOverdue,
	}
}

func (p *poll) result() pollJSON {
	r := pollJSON{
		Project: p.project.Name, Deferred: !p.until.IsZero(), Empty: p.state.Empty, Silence: p.silent(),
		New: []newJSON{}, Open: []talkJSON{}, GaveUp: []endingJSON{},
	}
	if r.Deferred {
		until := p.until.UTC().Format(kit.JSONTime)
		r.Until = &until
	}
	for i := range p.news {
		n := &p.news[i]
		m := newJSON{Message: n.judged.JSON(), Surface: n.say != "", Say: n.say, Answer: n.answer, Done: n.done}
		if n.talk != nil {
			m.Conversation = talkOf(n.talk)
		}
		r.New = append(r.New, m)
	}
	for i := range p.open {
		talk := &p.open[i]
		t := talkOf(talk.Conversation)
		t.Changed, t.Escalate, t.Answer, t.Done = talk.changed, talk.why, talk.answer, talk.done
		r.Open = append(r.Open, *t)
	}
	for _, e := range p.ended {
		r.GaveUp = append(r.GaveUp, endingJSON{e.talk.ID, e.to, e.err == nil})
	}
	if p.goesOn() {
		seconds := int(protocol.PollCadence / time.Second)
		r.Next = &seconds
	}
	return r
}
