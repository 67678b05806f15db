// Package notice tells the user when an agent of theirs needs them, by the channels that the user chose.
//
// It promises:
//
//   - The user gets one notice when a condition begins, also across restarts, and at most one a minute about the same thing. What begins
//     at about the same time is one notice. A condition that ended before the notice was sent causes none.
//   - In quiet hours nothing is sent. When they end, the user gets a notice of the conditions that still last.
//   - A notice counts as sent by a channel once the far side accepted it. Until then it is sent again, a limited number of times, and
//     the last error is kept. A process that is killed between the two sends it once more after a restart.
//   - Texts of agents and peers reach every channel as plain text. The channel that leaves the machine gets none of them.
//
// What the conditions are is read off a snapshot by [Of]. The caller takes snapshots, and says which agent the user is looking at.
package notice

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/sessions/observe"
)

// A Kind says what a condition is.
type Kind string

// The kinds.
const (
	Approval  Kind = "approval"  // its agent CLI shows a dialog
	Question  Kind = "question"  // it asked for a decision
	Signature Kind = "signature" // it proposed something to sign
	Blocked   Kind = "blocked"   // it says so
	Limited   Kind = "limited"   // at the rate limit of the provider
	Ended     Kind = "ended"     // without a stop of its user
	Halted    Kind = "halted"    // the halt switch is on
	Test      Kind = "test"
)

var words = map[Kind]string{
	Approval: " waits for your approval", Question: " wants a decision", Signature: " waits for your signature",
	Blocked: " is blocked, and you could help", Limited: " reached its limit", Ended: " ended unexpectedly",
	Halted: ": everything is halted", Test: ": a test notice",
}

// A Condition is a reason to tell the user something, as long as it lasts.
type Condition struct {
	Kind    Kind      `json:"kind"`
	Of      string    `json:"of"`              // the agent or session, by an id that stays
	Agent   string    `json:"agent"`           // what people call it
	About   string    `json:"about,omitempty"` // in the words of the agent
	Command string    `json:"command,omitempty"`
	At      time.Time `json:"at"` // when it was first seen; set by [Sender.Look]
}

// thing is what may cause one notice a minute.
func (c *Condition) thing() string { return string(c.Kind) + " " + c.Of }

// key tells conditions apart: another question of the same agent is another condition.
func (c *Condition) key() string { return c.thing() + " " + termsafe.Cut(c.About, maxAbout) }

// title is a condition in words that are ours, but for the name of the agent.
func (c *Condition) title() string {
	return termsafe.Clean(termsafe.Cut(c.Agent, maxName)) + words[c.Kind]
}

// Bytes of texts of others.
const (
	maxName  = 80
	maxAbout = 300
)

var kindOf = map[string]Kind{
	todo.Permission: Approval, todo.Escalation: Question, todo.Negotiation: Signature, todo.Blockage: Blocked,
}

// Of returns the conditions of a snapshot. called names an agent for people.
func Of(rows []overview.Row, waiting []todo.Item, halted halt.State, called func(address.Instance) string) (all []Condition) {
	if halted.Halted {
		all = append(all, Condition{Kind: Halted, Of: "machine", Agent: "tutti", About: halted.Reason, Command: "tutti status"})
	}
	asked := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		c := Condition{Of: IDOf(r), Agent: r.Agent}
		if r.Session != "" {
			c.Command = "tutti session attach " + termsafe.Word(r.Session)
		}
		switch r.Doing {
		case observe.StateWaiting:
			c.Kind, c.About = Approval, r.Asks
			asked[r.Session] = true
		case observe.StateLimited:
			c.Kind = Limited
		case "gone", observe.StateEnded:
			c = EndOf(r.Session)
		}
		if c.Kind != "" && !r.Mirrored {
			all = append(all, c)
		}
	}
	for i := range waiting {
		w := &waiting[i]
		kind := kindOf[w.Kind]
		if kind == "" || kind == Approval && asked[w.ID] {
			continue
		}
		who := cmp.Or(w.From, w.ID)
		c := Condition{Kind: kind, Of: who + " " + w.ID, Agent: who, About: w.About, Command: w.Command}
		if called != nil && w.From != "" {
			c.Agent = called(address.Instance(w.From))
		}
		all = append(all, c)
	}
	return all
}

// IDOf is the id of an agent in conditions.
func IDOf(r *overview.Row) string {
	if r.Instance != "" {
		return string(r.Instance)
	}
	return strings.TrimSpace(r.Registry + " " + cmp.Or(r.Session, r.Agent))
}

// EndOf is the unexpected end of a session.
func EndOf(session string) Condition {
	return Condition{Kind: Ended, Of: session, Agent: session, Command: "tutti session resume " + termsafe.Word(session)}
}

// maxLines are the conditions that a notice names.
const maxLines = 10

// compose makes a message of conditions. Its Outside has no words of agents.
func compose(all []Condition) (m Message) {
	for i := range all {
		m.Kinds = append(m.Kinds, all[i].Kind)
		m.Agents = append(m.Agents, termsafe.Clean(termsafe.Cut(all[i].Agent, maxName)))
	}
	if len(all) == 1 {
		c := &all[0]
		m.Title, m.Outside = c.title(), c.title()
		m.Text = strings.TrimSpace(termsafe.Clean(termsafe.Cut(c.About, maxAbout)) + "\n" + termsafe.Clean(c.Command))
		return m
	}
	m.Title = fmt.Sprintf("%d things need you", len(all))
	var text, outside []string
	for i := range all {
		if i == maxLines {
			more := fmt.Sprintf("and %d more", len(all)-i)
			text, outside = append(text, more), append(outside, more)
			break
		}
		line := all[i].title()
		outside = append(outside, line)
		if about := termsafe.Clean(termsafe.Cut(all[i].About, maxAbout)); about != "" {
			line += ": " + about
		}
		text = append(text, line)
	}
	m.Text, m.Outside = strings.Join(text, "\n"), strings.Join(outside, "\n")
	return m
}

// TestMessage is a notice with which a user tries the channels.
func TestMessage() *Message {
	m := compose([]Condition{{Kind: Test, Of: "test", Agent: "tutti", About: "This is how tutti tells you that an agent needs you."}})
	return &m
}
