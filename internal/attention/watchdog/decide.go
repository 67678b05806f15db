package watchdog

import (
	"slices"

	"tutti/internal/bus/presence"
	"tutti/internal/core/canonjson"
)

// What a decider can say, and what can be done.
const (
	Relance = "relance"
	Finish  = "finish"
)

var actions = []string{Relance, Finish, Escalate, Reroute}

// A Verdict is what a decider says of an agent that stands still.
type Verdict struct {
	Action string
	Reason string // in its words; "" for none
}

// maxReason bounds how much of a reason is kept, in bytes: it goes into a line of a log.
const maxReason = 1 << 10

// ParseVerdict reads the first object that stands in what a decider printed. What is no object, or has no action that is known, is a request
// to go on: a decider that fails must not put anybody away.
func ParseVerdict(said []byte) Verdict {
	v := Verdict{Action: Relance}
	raw := object(said)
	if raw == nil || !canonjson.Valid(raw) {
		return v
	}
	var got [2][]byte
	canonjson.Pick(raw, []string{"action", "reason"}, got[:])
	if action := text(got[0]); slices.Contains(actions, action) {
		v.Action = action
		v.Reason = shortened(text(got[1]), maxReason)
	}
	return v
}

// object is the first text between braces that belong together; nil: there is none. Braces in strings are none.
func object(said []byte) []byte {
	depth, begin, quoted := 0, -1, false
	for i := 0; i < len(said); i++ {
		switch c := said[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = begin >= 0 && !quoted
		case quoted:
		case c == '{':
			if depth++; depth == 1 {
				begin = i
			}
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return said[begin : i+1]
			}
		}
	}
	return nil
}

// Apply is what is done at a verdict. Unless it is enforced the agent is asked to go on, whatever the verdict; and unfinished work is never
// dropped: whoever calls it finished is put before a person.
func Apply(v Verdict, status string, enforce bool) string {
	switch {
	case !enforce:
		return Relance
	case v.Action == Finish && status != presence.Done:
		return Escalate
	}
	return v.Action
}

// Consulted tells whether the decider is asked about an entry.
func Consulted(e *Entry, s *Settings) bool { return e.RelanceCount >= s.DeciderAfter }
