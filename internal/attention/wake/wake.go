// Package wake makes an agent look that sits idle while mail waits for it, and keeps a record of what was tried.
//
// A [Ladder] belongs to the server of one session. It climbs from the mildest means to the strongest, each only where the one
// before could not do it or was not answered in time: the hook that waits in the background, the queue of the program, the keys
// of its terminal, a notice to its person. (The first rung, hooks that add mail while an agent works, acts by itself and is not
// part of this package.) An agent without a session has no server; the ladder to it, with nothing but the last rung, belongs to
// the server of the sender. An agent is knocked once, however much mail there is, and not again before it has looked. An agent
// that is halted, or was not let go on after a halt, is not knocked.
//
// A [Socket] is the socket of that server. A hook that waits for mail ([Wait]) sits at its other end: it takes no watcher of the
// kernel, looks at nothing in between, and ends when the server says so, or ends itself. Other hooks say there in passing
// what happens ([Tell]), by which the ladder knows whether the agent works.
//
// Nothing that a peer wrote is ever said, queued or typed: all means carry [Sentence] or [GoOn] and nothing else. That an agent was
// knocked proves nothing; what it was shown stands in the trail of its mailbox beside the knocks.
package wake

import "time"

// Sentence is the whole text for an agent.
const Sentence = "You have mail. If it is not shown here, call tutti_receive."

// ShellSentence is the whole text for an agent CLI without a server of ours.
const ShellSentence = "You have mail. To read it, run this command in a shell: tutti receive"

// GoOn is the whole text for an agent without mail when its user lets it continue, as after a halt.
const GoOn = "Your user lets you continue. Go on with what you were doing."

// The means, as they stand in the trail.
const (
	Rewake  = "rewake"  // the hook that waited in the background was notified
	Queue   = "queue"   // the sentence was put into the program's queue
	Channel = "channel" // a notification was sent; whether anybody listens is not known
	Nudge   = "nudge"   // the sentence was typed
	Desktop = "desktop" // its person was notified at their desktop
	Line    = "line"    // there is no desktop: a line of what looks after all mailboxes says it
)

// Times of a ladder.
type Times struct {
	// Gather is how long after the first message others are waited for, so that all of them make one knock.
	Gather time.Duration
	// Quiet is how long an agent has to have done nothing, where no hook says what it does.
	Quiet time.Duration
	// Busy is how long an agent counts as working after its last event: a turn that its user breaks off ends without one.
	Busy time.Duration
	// Peek is how often it is looked whether the agent has ended its turn without a word, while mail waits; see
	// LadderOptions.Ended.
	Peek time.Duration
	// Climb is how long a knock may go unanswered before the next rung is tried.
	Climb time.Duration
	// Again is when an agent that has answered no rung is knocked anew, if there is new mail.
	Again time.Duration
}

// Usual are the times that apply by default.
func Usual() Times {
	return Times{
		Gather: 150 * time.Millisecond, Quiet: 20 * time.Second, Busy: 2 * time.Minute, Peek: 2 * time.Second,
		Climb: time.Minute, Again: 10 * time.Minute,
	}
}
