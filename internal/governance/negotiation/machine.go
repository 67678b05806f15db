package negotiation

import "slices"

// A State is where a negotiation stands.
type State string

// The states.
const (
	Draft      State = "draft"
	Proposed   State = "proposed"
	Countered  State = "countered"
	Accepted   State = "accepted"
	Rejected   State = "rejected"
	Withdrawn  State = "withdrawn"
	Expired    State = "expired"
	Stabilized State = "stabilized"
	Abandoned  State = "abandoned"
)

// States lists all of them.
var States = []State{Draft, Proposed, Countered, Accepted, Rejected, Withdrawn, Expired, Stabilized, Abandoned}

// Terminal tells whether nothing moves a negotiation out of the state.
func (s State) Terminal() bool {
	switch s {
	case Rejected, Withdrawn, Expired, Stabilized, Abandoned:
		return true
	}
	return false
}

// An Event is what moves a negotiation.
type Event string

// The events. Accept is the signature that completes the quorum, Reject the one that makes it impossible.
const (
	Offer     Event = "offer"
	Counter   Event = "counter"
	Accept    Event = "accept"
	Reject    Event = "reject"
	Withdraw  Event = "withdraw"
	Expire    Event = "expire"
	Abandon   Event = "abandon"
	Stabilize Event = "stabilize"
)

// Events lists all of them.
var Events = []Event{Offer, Counter, Accept, Reject, Withdraw, Expire, Abandon, Stabilize}

// leads says where each event leads.
var leads = map[Event]State{
	Offer: Proposed, Counter: Countered, Accept: Accepted, Reject: Rejected, Withdraw: Withdrawn, Expire: Expired,
	Abandon: Abandoned, Stabilize: Stabilized,
}

// refused are the events that a state does not allow, beside all of them in a terminal one.
var refused = map[State][]Event{
	Draft:    {Counter, Accept, Reject}, // nothing was offered yet
	Accepted: {Offer, Reject},           // a quorum is not undone by starting over: counter it, or withdraw
}

// Next returns the state after an event, false when the event is refused. A draft can be stabilised, as existing programs never
// move the status: that its quorum is complete is looked at in any case.
func Next(from State, e Event) (State, bool) {
	to, known := leads[e]
	if !known || !slices.Contains(States, from) || from.Terminal() || slices.Contains(refused[from], e) {
		return "", false
	}
	return to, true
}
