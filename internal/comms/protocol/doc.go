// Package protocol is the protocol by which two projects talk in signed files, without the world: what files are
// called, what a header must say, whether a message that came in is acted on, whose turn it is, and what is still open.
//
// A conversation goes from a request to its release, between the one who asked (the originator) and the one who was
// asked (the receiver). Each message is one Org file in the mailbox of the other side, with a detached signature beside
// it. Version 5 of the protocol is in use by other programs; what they write is understood, and what is written here
// they understand.
//
// # What is decided where
//
//   - [ParseName], [FormatName], [ArchiveName], [ListMailbox], [OnEvent]: names of files, and what an entry of a mailbox is.
//   - [Read]: the typed fields of a header, and what is wrong with them.
//   - [Prepare]: what a draft becomes when it is sent, or why it is not.
//   - [Receive]: the decision on a message that came in. Its checks come in the order of [Order], and the first that fails
//     decides: a copy without a signature is refused, not passed over in silence as a duplicate.
//   - [Fold]: the state of a conversation from the messages of both sides.
//   - [Pending]: what of a mailbox waits.
//
// A message whose signature does not hold is never acted on: [Receive] says [Process] only for one that its Verify
// vouches for, unless the caller switched that off, as tests do.
//
// Everything is a pure function of its arguments: who calls brings the time, the bytes and the answers of gpg, of the
// ledger and of PATH, the latter as functions that are called only when their step has come. Nothing is opened, started
// or remembered; package comms does that. Text of peers goes through as it is: showing it safely is for faces.
package protocol

import "time"

// Version is the protocol version that is spoken here.
const Version = "5"

// The times of the protocol. Those of the first group are its own; the second group are decisions of ours where it says
// nothing.
const (
	PollCadence      = 270 * time.Second // just under the five minutes for which a prompt cache lives
	EmptyPolls       = 12                // after so many (about 54 minutes) the silence is reported to the user
	ReleaseWait      = 24 * time.Hour    // how long a receiver waits for the release of what it completed
	AcknowledgeAfter = 5 * time.Minute   // work that takes longer needs a progress first
	DeferWindow      = 60 * time.Second  // who wrote to its agent so shortly ago is not interrupted by an inbox check
	DeferEnd         = 5 * time.Minute   // ... but without further input not for longer than this

	MaxDrift     = 10 * time.Minute // a draft whose time is further from the clock is not sent
	FutureWarned = 10 * time.Minute // a message dated later than this from now is acted on with a warning
	FutureMax    = 24 * time.Hour   // ... and one dated later than this is not: its release would hide all that comes
	SkewSilent   = time.Second      // between the time in the name and that in the header
	SkewMax      = 15 * time.Minute // the older sender took the name from the clock and the header from the author
	ReplyTimeout = 24 * time.Hour   // after which a question without an answer is a case for the user
)

// InsistCap is how many times a pushback may be answered by insisting before the user has to decide.
const InsistCap = 2

// StallExchanges is after how many exchanges without a step forward a conversation counts as stalled.
const StallExchanges = 6

// A Type is what a message is for.
type Type string

// The types. A request opens a conversation, and always its sequence 1.
const (
	Request  Type = "request"
	Progress Type = "progress"
	Query    Type = "query"
	Pushback Type = "pushback"
	Complete Type = "complete"
	Release  Type = "release"
	Escalate Type = "escalate"
)

// Types are all of them, in the order of a life cycle.
func Types() []Type { return []Type{Request, Progress, Query, Pushback, Complete, Release, Escalate} }

// TypeWords are the types as they are written.
func TypeWords() []string {
	var words []string
	for _, t := range Types() {
		words = append(words, string(t))
	}
	return words
}

// Valid reports whether it is one of the seven; they are written in lower case only.
func (t Type) Valid() bool {
	switch t {
	case Request, Progress, Query, Pushback, Complete, Release, Escalate:
		return true
	}
	return false
}

// WantsReply reports whether the other side owes an answer.
func (t Type) WantsReply() bool { return t == Request || t == Query || t == Pushback }

// Surfaces reports whether a poll tells its user of a message of this type. A progress never interrupts.
func (t Type) Surfaces() bool { return t != Progress }

// The values of RELEASE_STATUS.
const (
	ReleasedComplete   = "complete"                   // the goal is met, and the originator has seen that it is
	ReleasedCancelled  = "cancelled"                  // the originator changed its mind, or a tool is missing
	ReleasedWithdrawn  = "withdrawn-after-pushback"   // the originator follows the reasons of a pushback
	ReleasedEscalation = "abandoned-after-escalation" // the user closed it
	ReleasedTimeout    = "abandoned-after-timeout"    // the receiver had given up waiting; closed late
)

// ReleaseStatuses are all of them.
func ReleaseStatuses() []string {
	return []string{ReleasedComplete, ReleasedCancelled, ReleasedWithdrawn, ReleasedEscalation, ReleasedTimeout}
}

// The values of PUSHBACK_RESPONSE on the request that answers a pushback. A request without it counts as insisting: that
// errs toward the user.
const (
	Revise = "revise" // another scope
	Insist = "insist" // the same, with an answer to the reasons
)
