package protocol

import "strconv"

// Escalation says in words why only the user can take this conversation further, "" while the two sides can go on by themselves. An
// answer that is more than a day late is a reason for the side that waits for it; the side that owes it answers.
func (s *State) Escalation(self string) string {
	switch {
	case !s.Open || s.PollingPaused:
		return ""
	case s.CapReached:
		return "it was pushed back and insisted on twice"
	case s.Stalled:
		return strconv.Itoa(StallExchanges) + " exchanges brought no step forward"
	case s.ReplyOverdue && s.AwaitedName != self:
		return "the other side has not answered for more than a day"
	}
	return ""
}

// Answer are the flags of the message that this side writes next, "" when it has none to write.
func (s *State) Answer(self string) string {
	switch {
	case s.Escalation(self) != "":
		return "--type " + string(Escalate)
	case s.Terminal || s.PollingPaused || s.AwaitedName != self:
		return ""
	case s.VerificationDue && self == s.Originator:
		return AnswerWith(Complete)
	case s.PushbackOpen && self == s.Originator:
		return AnswerWith(Pushback)
	}
	return AnswerWith(Request)
}

// MayComplete tells whether this side can say next that its work is done.
func (s *State) MayComplete(self string) bool {
	return self == s.Receiver && s.Answer(self) == AnswerWith(Request)
}

// SendWarning says in words what a warning has against a message that was sent, "" for a code that no send has.
func SendWarning(code string) string {
	switch code {
	case WarnReleaseByReceiver:
		return "only the project that made the request releases it: this release ends nothing"
	case WarnCompleteByOriginator:
		return "only the project that does the work completes it: this complete changes nothing"
	case WarnPushbackByOriginator:
		return "only the project that does the work pushes back: this pushback changes nothing"
	case WarnLate:
		return "the conversation was released before; a request opens it again"
	case WarnExpectedEscalate:
		return "it was pushed back and insisted on twice: the next message should be an escalate, so that the user decides"
	case WarnReleaseIgnored:
		return "RELEASE_STATUS counts on a release only"
	}
	return ""
}
