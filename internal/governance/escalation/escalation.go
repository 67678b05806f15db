package escalation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

// What is behind the kinds of entries.
const (
	kindMatter = "escalation"
	KindAnswer = envelope.UserAnswer
	KindLapse  = "escalation-lapsed"
)

var (
	// ErrNone reports a matter that there is not.
	ErrNone = errors.New("no such escalation")
	// ErrClosed reports one that was answered already, or whose end has passed.
	ErrClosed = errors.New("the escalation is closed")
	// ErrNotPerson reports an answer that is not from a person at a terminal.
	ErrNotPerson = errors.New("only a person answers it, at a terminal")
)

// human is the host of people.
const human = "human"

// A State says what became of a matter.
type State string

// The states.
const (
	Open     State = "open"
	Answered State = "answered"
	Lapsed   State = "lapsed" // its end has passed: the fall-back applies
	Ended    State = "ended"  // the negotiation has come to an end, so no agent waits for an answer
)

// An Answer is what a person has said.
type Answer struct {
	By   address.Instance
	Text string // the id of an option where there are some
	Note string
	At   time.Time
	Key  signature.Public // under which it is sealed
	Hash string           // of what is sealed
}

// An Escalation is a question put to a person or a superior.
type Escalation struct {
	ID          string // of the entry; of an alert that of its agent
	Negotiation string // "" for an alert
	By          address.Instance
	Channel     string // advise, decide or alert
	Scope       string
	At          time.Time
	Terms
	Payload   []byte // as written there; nil for an alert
	Target    string // the receiver: an address, or a role; "" when none was found
	Authority string // as what, one of declaration.AuthorityKinds; ""
	Source    string // by which rule the target was found
	Said      string // the receiver that its writer names, if the rules lead to another; "": the writer is right, or names none
	Reason    string // of an alert

	Hash   string  // of the entry's body; an answer names it, so that it is one to this very text
	Answer *Answer // nil: none that counts
	// Doubt is who has answered under a key that the registry has, and that this user has not confirmed as that person's; ""
	// for none.
	Doubt    address.Instance
	DoubtKey signature.Public // that key
	Recorded bool             // that it lapsed is on record
	Repeats  int              // how many later entries of the journal bear its id, and count for nothing
	Loose    bool             // its writer has keys and has not sealed it: another agent may have written it
	ended    bool
}

// State is what became of it until now.
func (m *Escalation) State(now time.Time) State {
	switch {
	case m.Answer != nil:
		return Answered
	case !m.Until.IsZero() && !now.Before(m.Until):
		return Lapsed
	case m.ended:
		return Ended
	}
	return Open
}

// Outcome is what applies: the answer, or the fall-back; "" while it is open.
func (m *Escalation) Outcome(now time.Time) string {
	switch m.State(now) {
	case Answered:
		return m.Answer.Text
	case Lapsed:
		return m.Fallback
	case Open, Ended:
	}
	return ""
}

// Person tells whether the target is a person, who alone may answer then.
func (m *Escalation) Person() bool { return address.Instance(m.Target).Canonical().Host() == human }

// Choices are the possible answers behind a question, " (yes, no)"; "" where any answer will do.
func (m *Escalation) Choices() string {
	var ids []string
	for _, o := range m.Options {
		ids = append(ids, o.ID)
	}
	if len(ids) == 0 {
		return ""
	}
	return " (" + strings.Join(ids, ", ") + ")"
}

// Role is the required role, "" for an address or none.
func (m *Escalation) Role() string {
	if r := strings.ToUpper(m.Target); slices.Contains(envelope.Roles, r) {
		return r
	}
	return ""
}

// Mismatch returns that the writer of a matter names another receiver than the rules, "" when it does not.
func (m *Escalation) Mismatch() string {
	if m.Said == "" {
		return ""
	}
	by := "by the enforcement plan it is for " + m.Target
	switch {
	case m.Target == "":
		by = "neither a plan nor a role leads there: any person may answer"
	case m.Source != "enforcement-plan":
		by = "no plan leads there, so it is for " + m.Target
	}
	return "its writer says it is for " + termsafe.Cut(m.Said, maxAbout) + ", but " + by
}

// tidy is a target without insignificant characters: otherwise no one would own it, and anyone could answer.
func tidy(target string) string {
	const around = " \t\r\n/"
	return strings.TrimRight(strings.Trim(target, around), around+":")
}

// For reports whether a person, or an agent that looks on, is a receiver: by name, by host and label, or a person where no
// person is named.
func (m *Escalation) For(who address.Instance) bool {
	to := address.Instance(m.Target).Canonical()
	if to == who.Canonical() || to != "" && string(to) == to.Channel() && who.Channel() == to.Channel() {
		return true
	}
	return !m.Person() && who.Canonical().Host() == human
}

// May reports whether a viewer may answer: a person, who is there, and if the matter is for a person this one. attended is
// false if no one was shown to be at the terminal.
func (m *Escalation) May(who address.Instance, attended bool) error {
	switch {
	case who.Canonical().Host() != human || !attended:
		return ErrNotPerson
	case !m.For(who):
		return fmt.Errorf("it is for %s, and this is %s", m.Target, who)
	}
	return nil
}

// Settle is the answer in the form in which it is written, or why it cannot be given.
func (m *Escalation) Settle(said, note string, now time.Time) (text string, err error) {
	switch state := m.State(now); {
	case state == Answered:
		return "", fmt.Errorf("%w: %s has answered %q", ErrClosed, m.Answer.By, m.Answer.Text)
	case state == Lapsed:
		return "", fmt.Errorf("%w: its end was %s, and %q applies since", ErrClosed, envelope.Stamp(m.Until), m.Fallback)
	case state == Ended:
		return "", fmt.Errorf("%w: the negotiation %s has come to an end", ErrClosed, m.Negotiation)
	case len(said) > MaxAnswer || len(note) > MaxAnswer:
		return "", fmt.Errorf("an answer has at most %d bytes", MaxAnswer)
	}
	said = strings.TrimSpace(said)
	switch {
	case len(m.Options) > 0 && said != "":
		o, ok := m.Option(said)
		if !ok {
			return "", fmt.Errorf("%q is none of the options%s", said, m.Choices())
		}
		return o.ID, nil
	case said != "":
		return said, nil
	case m.Channel == "alert":
		return "seen", nil
	}
	return "", errors.New("what is the answer?")
}

// AnswerBody is the body of the entry that answers.
func (m *Escalation) AnswerBody(text, note string) []byte {
	var o canonjson.Object
	o.Str("kind", KindAnswer)
	o.Str("escalation", m.ID)
	o.Str("of", m.Hash)
	o.Str("answer", text)
	o.Opt("note", note)
	return o.End()
}

// LapseBody is the body of the entry that records what applies because no answer came.
func (m *Escalation) LapseBody() []byte {
	var o canonjson.Object
	o.Str("kind", KindLapse)
	o.Str("escalation", m.ID)
	o.Str("fallback", m.Fallback)
	o.Str("until", envelope.Stamp(m.Until))
	return o.End()
}

// matterOf reads the entry of a matter; nil: it is none.
func matterOf(e *journal.Entry) *Escalation {
	if e.Type != "escalate" {
		return nil
	}
	var v [4][]byte
	canonjson.Pick(e.Body, []string{"kind", "channel", "payload", "route"}, v[:])
	channel, _ := canonjson.String(v[1])
	channel = strings.ToLower(strings.TrimSpace(channel))
	if !canonjson.Is(v[0], kindMatter) || e.ID == "" {
		return nil
	}
	hash, err := canonjson.Hash(e.Body)
	if err != nil {
		return nil // programs could read two different things in it
	}
	m := &Escalation{ID: e.ID, Hash: hash, Negotiation: e.NegotiationID, By: e.Actor.Instance, Scope: e.Actor.Scope, Channel: channel, Payload: v[2], Terms: TermsOf(v[2]).cut()}
	m.At, _ = envelope.ParseTime(e.CreatedAt)
	var to [3][]byte
	canonjson.Pick(v[3], []string{"target", "authorityKind", "source"}, to[:])
	m.Target, _ = canonjson.String(to[0])
	m.Target = tidy(m.Target)
	m.Authority, _ = canonjson.String(to[1])
	m.Source, _ = canonjson.String(to[2])
	return m
}

// Route writes the receiver of a matter, nil when none was found.
func Route(d declaration.Destination) []byte {
	if !d.OK {
		return nil
	}
	var o canonjson.Object
	o.Str("target", d.Target)
	o.Str("authorityKind", d.Authority)
	o.Str("source", d.Source)
	return o.Bytes()
}
