// Package overview looks at the mailboxes of all projects of this machine at once: what waits in them, which conversations are
// open and who is awaited, and what a user should know besides.
//
// # What is promised
//
// Nothing is changed: no message is moved or removed. Each look reads the headers anew, which takes about 10 ms for a thousand
// messages. Only messages that their receiver would accept move a conversation ([exchange.Verifier]); gpg is asked once about each
// of them, and for a few seconds at most. With [Options.ByTheLetter] no signature is checked, and every message counts.
//
// A mailbox shows one direction of a conversation only. The other one comes from the record of what the project has sent, and
// from the mailboxes of the other projects that are looked at ([Project.Conversations]). What a project itself released waits no
// longer ([Project.Pending]); by the letter of the protocol it would wait for ever ([Project.Literal]).
//
// Two projects of one name, on this machine and on another one, that write under one name of a conversation have two conversations.
//
// A mailbox that cannot be looked at is reported as such ([Project.Err]); it hides no other one. Names and titles are text of
// strangers and come as they are: showing them safely is for faces.
package overview

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

// Options say what to look at. Office is needed.
type Options struct {
	Office *exchange.Service
	// Globs are patterns of mailbox folders, as the flag --projects-glob has them, ~ for the home folder; none: the mailboxes of
	// all folders in the project folders of the office.
	Globs []string
	// Only is the name of a project: no other one is reported.
	Only string

	// ByTheLetter: signatures are not checked, and every message counts, as the protocol describes a survey.
	ByTheLetter bool

	Halt func() halt.State // nil: halt.Read
	Now  func() time.Time  // nil: time.Now
}

// A Overview is what was seen.
type Overview struct {
	At       time.Time
	Projects []*Project // those with something that waits first, then by name
	Halt     halt.State
	Failed   int // bundles that wait for another try
	Warnings []Warning
}

// Project is the mailbox of the project at a path, nil when there is none.
func (s *Overview) Project(path string) *Project {
	for _, p := range s.Projects {
		if p.Path == path {
			return p
		}
	}
	return nil
}

// Trouble reports whether a mailbox could not be looked at.
func (s *Overview) Trouble() bool {
	return slices.ContainsFunc(s.Projects, func(p *Project) bool { return p.Err != nil })
}

// A Project is one mailbox.
type Project struct {
	exchange.Project
	Mailbox    string // path
	Messages   int
	Pending    int // of Messages
	Literal    int // the same by the letter: only releases that lie in this mailbox count
	Unreadable int // of Pending: their conversation is unknown
	Unsigned   int // of Messages
	Refused    int // messages that wait and that recv refuses; not among Pending
	Foreign    int // plain files with names of no message
	Latest     *Message
	// Conversations are those of the mailbox, of the record of sends and of the archive: the open ones first, then those
	// in which something happened last.
	Conversations []Conversation
	Err           error // the mailbox cannot be looked at; all numbers are 0

	at      time.Time
	heads   []head // sorted by name
	waiting []int  // places in heads
}

// A Message is one file of a mailbox.
type Message struct {
	Name         string
	Sender       string // slug; "": the name does not go with the header
	Title        string
	Conversation string
	Type         protocol.Type
	Sequence     int
	Time         time.Time     // zero: it says none that can be read
	Age          time.Duration // at the time of the survey, never below 0
	Unsigned     bool
	Refused      bool
	Unreadable   bool
}

// Unread returns the messages that wait, in the order of their names, which is that of their times.
func (p *Project) Unread() []Message {
	list := make([]Message, len(p.waiting))
	for i, at := range p.waiting {
		list[i] = p.message(at)
	}
	return list
}

// Has reports whether the mailbox has a message of that name.
func (p *Project) Has(name string) bool {
	_, found := slices.BinarySearchFunc(p.heads, name, func(h head, name string) int { return strings.Compare(h.name, name) })
	return found
}

// Conversation is the one that a message of the mailbox belongs to, nil when there is none.
func (p *Project) Conversation(name string) *Conversation {
	at, found := slices.BinarySearchFunc(p.heads, name, func(h head, name string) int { return strings.Compare(h.name, name) })
	if !found {
		return nil
	}
	for i := range p.Conversations {
		if p.Conversations[i].key == p.heads[at].key {
			return &p.Conversations[i]
		}
	}
	return nil
}

func (p *Project) message(i int) Message {
	h := &p.heads[i]
	m := Message{
		Name: h.name, Sender: h.sender, Title: h.title, Conversation: h.conv, Type: h.kind, Sequence: h.sequence, Time: h.at,
		Unsigned: h.unsigned, Refused: h.refused, Unreadable: h.unreadable(),
	}
	at := h.at
	if m.Unreadable { // what its name says is better than nothing
		at = nameTime(h.name)
	}
	m.Age = max(p.at.Sub(at), 0)
	return m
}

// A Conversation is one of a project, seen from both sides as far as they are on this machine.
type Conversation struct {
	ID      string
	Partner string // slug; "": no message came and none was sent
	Waiting int    // messages of it that wait
	key     string // as its messages have it
	protocol.State
}

// Line is how replies of agents mention a conversation.
func (c *Conversation) Line() string {
	return c.ID + " at sequence " + strconv.Itoa(c.Last.Sequence) + ", awaiting " + string(c.Awaited)
}

// A Warning is something that a user should know.
type Warning struct {
	Project string // "": of none
	Code    string
	Text    string // in words
}

// The codes of warnings.
const (
	WarnMailbox    = "mailbox_unreadable"
	WarnWide       = "mailbox_wide"
	WarnHeader     = "header_unreadable" // one a project
	WarnForeign    = "foreign_files"     // one a project
	WarnUnsigned   = "unsigned"          // one a project
	WarnRefused    = "refused"           // one a project
	WarnUnjudged   = "unjudged"          // one a project
	WarnSent       = "sent_record_unreadable"
	WarnOverdue    = "verification_overdue"
	WarnNoReply    = "reply_overdue"
	WarnStalled    = "stalled"
	WarnOneSided   = "one_sided"
	WarnBundle     = "bundle_unreadable"
	WarnPattern    = "bad_pattern"
	WarnProtocol   = "protocol" // a warning of the conversation itself, see package conversation
	WarnNoMailbox  = "no_such_project"
	WarnCapReached = protocol.CodeCapReached
)

// lookTime is how long a look asks gpg about messages that were never judged; most looks ask about none.
const lookTime = 5 * time.Second

// Look makes a survey. The error is the cause of ctx; all other trouble is part of the survey.
func Look(ctx context.Context, o Options) (*Overview, error) {
	s := &Overview{At: time.Now()}
	if o.Now != nil {
		s.At = o.Now()
	}
	if s.Halt = halt.Read(); o.Halt != nil {
		s.Halt = o.Halt()
	}
	until := time.Now().Add(lookTime)
	if end, ok := ctx.Deadline(); ok { // half of what is left, so that the look itself is in time
		until = time.Now().Add(min(lookTime, time.Until(end)/2))
	}
	boxes, warnings := find(&o)
	s.Warnings = warnings
	for _, b := range boxes {
		if b.at = s.At; ctx.Err() == nil {
			b.look(ctx, &o, until)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	sent := outgoing(o.Office, boxes)
	for _, b := range boxes {
		b.judge(o.Office, sent[b])
	}
	for _, b := range boxes {
		if o.Only == "" || b.Name == o.Only {
			s.Projects = append(s.Projects, &b.Project)
			s.Warnings = append(s.Warnings, b.warnings...)
		}
	}
	if o.Only != "" && len(s.Projects) == 0 {
		s.Warnings = append(s.Warnings, Warning{o.Only, WarnNoMailbox, "there is no mailbox of a project of this name"})
	}
	slices.SortFunc(s.Projects, func(a, b *Project) int {
		if c := protocol.CompareProjects(a.Name, a.Pending, b.Name, b.Pending); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	s.bundles(o.Office)
	return s, nil
}

// bundles counts what could not be sent. The names are enough, unless there are some.
func (s *Overview) bundles(o *exchange.Service) {
	if s.Failed = o.BundleCount(); s.Failed == 0 {
		return
	}
	_, errs := o.Bundles()
	for _, err := range errs {
		s.Warnings = append(s.Warnings, Warning{"", WarnBundle, err.Error()})
	}
}
