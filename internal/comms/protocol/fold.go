package protocol

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// An Event is a message as the state of its conversation depends on it.
type Event struct {
	Name          string // of its file; "": not known
	Time          time.Time
	From          string // the slug of the sender
	Type          Type
	Sequence      int
	ReleaseStatus string
	InReplyTo     int
	Response      string // Revise or Insist
}

// Event returns the message as an event. The sender is in the name of its file only.
func (m *Message) Event(name, sender string) Event {
	return Event{name, m.Time, sender, m.Type, m.Sequence, m.ReleaseStatus, m.InReplyTo, m.Response}
}

// Compare orders messages: by time, then by sequence, which is a hint only, then by name.
func Compare(a, b Event) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.Name, b.Name))
}

// NextSequence returns the number after the highest that was seen in either direction; 0: none was.
func NextSequence(highest int) int { return highest + 1 }

// A Side is who is awaited.
type Side string

// The sides.
const (
	NoSide     Side = "none" // none: it is over
	Originator Side = "originator"
	Receiver   Side = "receiver"
	User       Side = "user"
	Unknown    Side = "unknown" // no request has been seen
)

// A View says from where a conversation is looked at.
type View struct {
	Now time.Time // zero: nothing is overdue, and nothing too far in the future
	// Self and Partner are the slugs of the two projects. Where they are not given, they are the first two who write.
	Self, Partner string
	// Missing says that the messages of one direction were not to be had at all: a mailbox has only one.
	Missing bool
}

// A State is where a conversation stands.
type State struct {
	Originator, Receiver string // slugs; "": not known yet
	Rounds               int    // requests that opened it, or opened it again
	Awaited              Side
	AwaitedName          string // the slug of the awaited side, if it is one and known
	Terminal             bool
	ReleaseStatus        string
	Released             time.Time // of the latest release that ended a round, or closed again what was written late; zero: none did
	Open                 bool      // not over, or a message came after the release
	PollingPaused        bool      // until the user has decided

	VerificationDue     bool // completed, and not released
	VerificationOverdue bool // for more than ReleaseWait
	GaveUp              bool // the receiver has written its last progress, because the release did not come
	PushbackOpen        bool
	InsistExchanges     int
	CapReached          bool
	NextMustBe          Type // Escalate, or ""
	ReplyOverdue        bool // what wants an answer has had none for more than ReplyTimeout
	Stalled             bool // StallExchanges exchanges without a step forward

	NextSequence int
	Last         Event // of the two sides; zero: none
	OneSided     bool  // the messages of one direction are missing, and the rest of the state may be wrong
	Warnings     []string
}

// Fold returns the state of a conversation from the messages of both directions, in any order. A message that is given twice,
// as from the record of the sender and from the mailbox of the receiver, counts once. One that is dated later than FutureMax
// from now is left out with a warning: no receiver takes it, and a release of that kind would hide all later ones. For the same
// reason a release that is dated later than FutureWarned from now ends nothing yet; it is reported with the same warning, and
// its number counts.
func Fold(events []Event, v View) State {
	f := folder{v: v}
	list := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return tooLate(e.Time, v.Now) })
	if len(list) < len(events) {
		f.warn(WarnFuture)
	}
	slices.SortStableFunc(list, Compare)
	list = slices.CompactFunc(list, func(a, b Event) bool { return a.Name != "" && a.From == b.From && Compare(a, b) == 0 })
	f.s.NextSequence = 1
	for i := range list {
		e := &list[i]
		f.s.NextSequence = max(f.s.NextSequence, e.Sequence+1)
		if e.Type == Release && !Ends(e.Time, v.Now) {
			f.warn(WarnFuture)
			continue
		}
		f.apply(e)
	}
	f.finish(list)
	return f.s
}

// A folder is one run of Fold.
type folder struct {
	v        View
	s        State
	owner    Side // who owes work
	ask      Side // the project whose question is open; "": none
	asked    int  // its sequence
	late     bool
	since    time.Time // of the complete that waits for its release
	switches int       // of the writer, since the last step forward
	// waiting is since when what the originator and the receiver want an answer to has had none.
	waiting [2]struct {
		some bool
		at   time.Time
	}
}

func (f *folder) warn(code string) {
	if !slices.Contains(f.s.Warnings, code) {
		f.s.Warnings = append(f.s.Warnings, code)
	}
}

func (f *folder) apply(e *Event) {
	if f.s.Rounds == 0 {
		if e.Type != Request {
			f.warn(WarnOrphanStart)
			return
		}
		if f.v.Self != "" && f.v.Partner != "" && e.From != f.v.Self && e.From != f.v.Partner {
			f.warn(WarnThirdParty)
			return
		}
		f.open(e, f.other(e.From))
		return
	}
	by := f.side(e.From)
	if by == NoSide {
		f.warn(WarnThirdParty)
		return
	}
	last := f.s.Last.From
	f.s.Last = *e
	if f.s.Terminal {
		f.after(e, by)
		return
	}
	if wrong := wrongSide(e.Type, by); wrong != "" {
		f.warn(wrong)
		return
	}
	if f.s.InsistExchanges >= InsistCap && e.Type != Escalate && e.Type != Release {
		f.warn(WarnExpectedEscalate)
	}
	if last != e.From {
		f.switches++
	}
	f.wait(e, by)
	f.s.GaveUp = by == Receiver && (f.s.GaveUp || e.Type == Progress && f.s.VerificationDue && e.Time.Sub(f.since) > ReleaseWait)
	f.act(e, by)
}

// open begins a round.
func (f *folder) open(e *Event, receiver string) {
	warnings := f.s.Warnings
	f.s = State{
		Originator: e.From, Receiver: receiver, Rounds: f.s.Rounds + 1, NextSequence: f.s.NextSequence, Last: *e, Warnings: warnings,
		Released: f.s.Released,
	}
	f.owner, f.ask, f.late, f.switches = Receiver, "", false, 0
	clear(f.waiting[:])
	f.waiting[0].some, f.waiting[0].at = true, e.Time
}

// other returns who the receiver is when the originator is known, as far as the view tells.
func (f *folder) other(originator string) string {
	switch {
	case f.v.Self == "":
		return ""
	case originator != f.v.Self:
		return f.v.Self
	}
	return f.v.Partner
}

// side returns which side writes. The first one who is not the originator is the receiver, unless the view says who is.
func (f *folder) side(from string) Side {
	switch {
	case from == f.s.Originator:
		return Originator
	case f.s.Receiver == "":
		f.s.Receiver = from
		return Receiver
	case from == f.s.Receiver:
		return Receiver
	}
	return NoSide
}

// wrongSide returns the warning for what this side cannot do, or "".
func wrongSide(t Type, by Side) string {
	switch {
	case t == Release && by == Receiver:
		return WarnReleaseByReceiver
	case t == Complete && by == Originator:
		return WarnCompleteByOriginator
	case t == Pushback && by == Originator:
		return WarnPushbackByOriginator
	}
	return ""
}

// after is what a message does after the release: a request opens the next round, a further release closes again what was
// written late, and all else is late.
func (f *folder) after(e *Event, by Side) {
	switch {
	case e.Type == Request && by == Originator:
		f.open(e, f.s.Receiver)
	case e.Type == Request:
		f.open(e, f.s.Originator)
	case e.Type == Release && by == Originator:
		f.late = false
		f.s.ReleaseStatus, f.s.Released = e.ReleaseStatus, e.Time
	default:
		f.warn(WarnLate)
		f.late = true
	}
}

// wait keeps since when an answer is awaited: whatever the other side writes is one.
func (f *folder) wait(e *Event, by Side) {
	own, other := &f.waiting[0], &f.waiting[1]
	if by == Receiver {
		own, other = other, own
	}
	other.some = false
	if !own.some && e.Type.WantsReply() {
		own.some, own.at = true, e.Time
	}
}

func opposite(s Side) Side {
	if s == Originator {
		return Receiver
	}
	return Originator
}

func (f *folder) act(e *Event, by Side) {
	s := &f.s
	switch e.Type {
	case Request:
		s.PollingPaused = false
		if by == Receiver {
			f.ask, f.asked = Receiver, e.Sequence
			return
		}
		f.owner, f.ask, s.VerificationDue = Receiver, "", false
		if s.PushbackOpen && e.Response != Revise {
			s.InsistExchanges++
		} else {
			f.switches = 0
		}
		s.PushbackOpen = false
	case Progress:
		if f.ask == opposite(by) && (e.InReplyTo == 0 || e.InReplyTo == f.asked) {
			f.ask = ""
		}
	case Query:
		f.ask, f.asked = by, e.Sequence
	case Pushback:
		f.owner, f.ask, s.PushbackOpen = Originator, "", true
	case Complete:
		f.owner, f.ask, f.since, f.switches = Originator, "", e.Time, 0
		s.VerificationDue, s.InsistExchanges, s.PollingPaused = true, 0, false
	case Release:
		f.ask = ""
		s.Terminal, s.ReleaseStatus, s.Released = true, e.ReleaseStatus, e.Time
		s.VerificationDue, s.PushbackOpen, s.InsistExchanges, s.PollingPaused = false, false, 0, false
	case Escalate:
		s.PollingPaused, s.InsistExchanges, f.switches = true, 0, 0
	}
}

// finish draws the conclusions.
func (f *folder) finish(list []Event) {
	s := &f.s
	s.Open = len(list) > 0 && (!s.Terminal || f.late)
	switch {
	case len(list) == 0 || s.Terminal:
		s.Awaited = NoSide
	case s.Rounds == 0:
		s.Awaited = Unknown
	case s.PollingPaused:
		s.Awaited = User
	case f.ask != "":
		s.Awaited = opposite(f.ask)
	default:
		s.Awaited = f.owner
	}
	switch s.Awaited {
	case Originator:
		s.AwaitedName = s.Originator
	case Receiver:
		s.AwaitedName = s.Receiver
	}
	if s.CapReached = s.InsistExchanges >= InsistCap; s.CapReached {
		s.NextMustBe = Escalate
	}
	s.Stalled = !s.Terminal && !s.PollingPaused && f.switches/2 >= StallExchanges
	if !f.v.Now.IsZero() {
		s.VerificationOverdue = s.VerificationDue && f.v.Now.Sub(f.since) > ReleaseWait
		for _, w := range f.waiting {
			s.ReplyOverdue = s.ReplyOverdue || w.some && !s.Terminal && !s.PollingPaused && f.v.Now.Sub(w.at) > ReplyTimeout
		}
	}
	s.OneSided = f.v.Missing || oneSided(list, s.Rounds)
	slices.Sort(s.Warnings)
}

// oneSided guesses that the messages of one direction are missing: all that there are have one writer, and either no
// request is among them or numbers are left out.
func oneSided(list []Event, rounds int) bool {
	for i := range list {
		if list[i].From != list[0].From {
			return false
		}
	}
	return len(list) > 0 && (rounds == 0 || gaps(list))
}

// gaps reports whether there are fewer sequences than the highest of them.
func gaps(list []Event) bool {
	highest, seen := 0, map[int]bool{}
	for i := range list {
		highest = max(highest, list[i].Sequence)
		seen[list[i].Sequence] = true
	}
	return len(seen) < highest
}

// Refuses returns what is to be said of a message that a side is about to write: CodeCapReached if it must not be sent,
// else the code of a warning, or "".
func (s *State) Refuses(sender string, t Type, response string) string {
	if s.CapReached {
		insists := t == Request && sender == s.Originator && (response == Insist || s.PushbackOpen && response != Revise)
		switch {
		case t == Pushback, insists:
			return CodeCapReached
		case t != Escalate && t != Release:
			return WarnExpectedEscalate
		}
	}
	switch {
	case s.Rounds == 0:
		return ""
	case s.Terminal && t != Request:
		return WarnLate
	case s.Terminal:
		return ""
	case sender == s.Originator:
		return wrongSide(t, Originator)
	case s.Receiver == "" || sender == s.Receiver:
		return wrongSide(t, Receiver)
	}
	return ""
}
