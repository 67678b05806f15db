package driver

import (
	"slices"
	"strings"
)

// A Choice is an argument that says which conversation it is to be.
type Choice struct {
	Names []string // "--resume", "-r". One without a hyphen is a command
	Value Value
	// Anew: what begins is a conversation with another id than the one that is named.
	Anew bool
}

// Value says whether a word belongs to an argument.
type Value uint8

// The values.
const (
	NoValue   Value = iota
	MayValue        // the next word, if it does not begin with a hyphen
	MustValue       // the next word
)

// Unchosen takes out of the arguments of a user those that say which conversation it is to be, as they would contradict another one.
// chosen: there were such. id is the conversation that they name, "" where that is not certain. What stands behind "--" is not looked
// at.
func (l *Life) Unchosen(args []string) (rest []string, id string, chosen bool) {
	anew := false
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		name, value, joined := strings.Cut(args[i], "=")
		at := slices.IndexFunc(l.Choices, func(c Choice) bool { return slices.Contains(c.Names, name) })
		if at < 0 {
			rest = append(rest, args[i])
			continue
		}
		c := &l.Choices[at]
		chosen, anew = true, anew || c.Anew
		if next := i + 1; !joined && next < len(args) && (c.Value == MustValue || c.Value == MayValue && !strings.HasPrefix(args[next], "-")) {
			value = args[next]
			i = next
		}
		if l.IsID(value) {
			id = value
		}
	}
	if anew {
		id = ""
	}
	return rest, id, chosen
}
