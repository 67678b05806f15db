package protocol

import "fmt"

// Sentences that the protocol fixes word for word, because people and programs look for them.
const (
	// FarewellBody is the body of the last progress of an agent that meets a halt. It is kept and not sent: halt wins.
	FarewellBody = "HALT fired; pausing"
	// HaltedRemark ends each reply to the user while halt is active.
	HaltedRemark = "(HALT active; cross-agent comms paused)"
	// ClearedRemark ends the first reply after it was cleared.
	ClearedRemark = "(HALT cleared; cross-agent comms ready to resume — say so to re-engage polling.)"
	// UnverifiedBody is in the last progress of a receiver that has waited for a release in vain.
	UnverifiedBody = "treating as terminal-without-verification; originator never returned to release"
)

// StateLine is what a reply says that mentions a conversation.
func StateLine(conversation string, s *State) string {
	return fmt.Sprintf("%s at sequence %d, awaiting %s", conversation, s.NextSequence-1, s.Awaited)
}

// Surfacing is the one line by which an agent tells its user of a message.
func Surfacing(work, project string, t Type) string {
	if t == Complete {
		return fmt.Sprintf("%s says it is done. Look at it now, or after we finish?", project)
	}
	return fmt.Sprintf("While we were working on %s, a cross-agent message landed from %s. It's a %s: now, or after we finish?", work, project, t)
}

// Refusal is the one line by which an agent tells its user of a message that it must not act on.
func Refusal(sender, reason string) string {
	if sender == "" {
		sender = "an unknown sender"
	}
	return fmt.Sprintf("A cross-agent message in the name of %s was refused, and I have not acted on it: %s", sender, reason)
}

// AnswerWith are the flags of the message that most often answers one of a type, "" when none is due.
func AnswerWith(t Type) string {
	switch t {
	case Request, Query:
		return "--type " + string(Progress)
	case Pushback:
		return "--type " + string(Request) + " --response " + Revise
	case Complete:
		return "--type " + string(Release) + " --release-status " + ReleasedComplete
	}
	return ""
}
