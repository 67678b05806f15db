package halt

import "time"

// Shown is how the place of the switch is written for people; scripts look for it in this form.
const Shown = "~/.config/cross-agent-comms/HALT"

// Active is the first line that a command prints on standard error when it refuses to work.
const Active = "halt active; remove " + Shown + " to resume."

// Refused is that line where an agent may read it: it does not say how a halt is lifted.
const Refused = "halt active: your user has stopped all agents."

// Cleared is the text that an agent gets, once, after a halt: what it had begun must not go on because the switch is off again.
const Cleared = "all agents were halted, and the halt was lifted; go on with what you were doing only if your user says so"

// unreadableText is what readers of the switch say when they cannot learn the reason.
const unreadableText = "HALT file present but unreadable; treat as halted."

// An Error reports an action that was refused or ended because the user has halted.
type Error struct {
	Action     string    // "relaunch claude:api"; "" for the cause of a context
	By, Reason string    // owner of the switch, and what it says; either may be ""
	Since      time.Time // UTC; zero when unknown
	Unreadable bool      // halted, but the entry could not be read
	Path       string    // where the switch lies; "" when no home folder is known
	Problem    string    // why it could not be read
}

// Error says who stopped what, since when and why, leaving out what is not known.
func (e *Error) Error() string {
	text := "halted"
	if e.Action != "" {
		text = e.Action + ": " + text
	}
	if e.By != "" {
		text += " by " + e.By
	}
	if !e.Since.IsZero() {
		text += " since " + e.Since.UTC().Format(time.RFC3339)
	}
	switch {
	case e.Unreadable && e.Problem != "":
		return text + ": " + unreadableText + " (" + e.Problem + ")"
	case e.Unreadable:
		return text + ": " + unreadableText
	case e.Reason != "":
		return text + ": " + e.Reason
	}
	return text
}

// Banner returns the line [Active], which scripts look for as the first one on standard error.
func (e *Error) Banner() string { return Active }

// Hint says what to do where the switch has no place. How a halt is lifted is said by callers that know that the user reads it.
func (e *Error) Hint() string {
	if e.Path == "" {
		return "set HOME to the absolute path of your home folder"
	}
	return ""
}
