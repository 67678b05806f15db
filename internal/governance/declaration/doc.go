// Package declaration judges what parties to an agreement declare: the artifacts that they offer each other, their interests
// and the conflicts that follow from these, that they have understood what is decided, and who receives a matter that they
// cannot settle.
//
// Everything here is a pure function from JSON text and plain values to a judgement. Nothing is read, written or signed for; no
// judgement decides anything, it says what is so and why. Who is registered in which role, which entries a journal holds and
// whether a judgement stops anybody is asked and decided above, in the negotiation and by the chosen profile.
//
// Text comes from strangers. Text that is too large, too deep or not valid JSON is refused in time that grows with its length,
// and a list of faults ends after MaxFaults. Two names mean the same agent when their canonical addresses are equal, so that no
// agent escapes a conflict by another spelling; scopes are compared byte by byte.
package declaration

import (
	"fmt"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
)

// MaxArtifact is the longest artifact that is judged, in bytes of JSON: the longest line that a journal takes.
const MaxArtifact = envelope.MaxDocument

// MaxFaults is how many faults of one artifact are named. People repair a handful at a time, and a hostile artifact has as many
// as it has bytes.
const MaxFaults = 20

// faults collects what is wrong with one thing.
type faults struct {
	list []string
	more bool
}

// full tells whether there is room for no more. Who goes through many things of a kind stops looking then.
func (f *faults) full() bool { return len(f.list) == MaxFaults }

func (f *faults) add(format string, args ...any) {
	if f.full() {
		f.more = true
		return
	}
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// all returns the faults, and says in a last line when not all are named.
func (f *faults) all() []string {
	if f.more {
		return append(f.list, "and more")
	}
	return f.list
}

// text is the string that raw is, "" for any other value.
func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

// member is the string of that name in an object, "" when there is none.
func member(raw []byte, name string) string {
	v, _ := canonjson.Get(raw, name)
	return text(v)
}

// isArray reports whether valid JSON is an array.
func isArray(raw []byte) bool { return first(raw) == '[' }

func first(raw []byte) byte {
	for _, c := range raw {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// quote shows a name from a stranger within a sentence of ours.
func quote(s string) string {
	const most = 80 // of a line
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}
