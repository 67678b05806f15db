package lifecycle

import (
	"fmt"
	"strings"
)

// A registry may have come with a cloned repository, and then its rows start foreign commands. So a command of a row is run
// only when it was started from this account before, or when its user agrees to it now.

// A part of a command, as it is remembered.
const (
	whole       = "command" // with the arguments of its user
	programOnly = "program" // whatever its arguments
)

// remembered is what is kept of a command: the folder, the kind of program, the program, and the arguments of its user. Parts
// that are made anew each time, such as the id of a conversation, do not count. "" is a command that needs no consent: the
// plain CLI of that kind, without arguments.
func (b *begin) remembered(part, dir string) string {
	words := []string{part, b.m.place(dir).Dir, b.kind.Name, b.program}
	if part == whole {
		words = append(words, b.own...)
	}
	if b.program == b.kind.Program && len(words) == 4 {
		return ""
	}
	return strings.Join(words, "\x00")
}

// vouched is nil when a part of the command, which is the row's, may be run in a folder.
func (b *begin) vouched(part, name, dir string, trust bool) error {
	c := b.remembered(part, dir)
	if c == "" || trust {
		return nil
	}
	if known := b.m.o.Started.Known; known != nil {
		yes, err := known(c)
		if err != nil {
			return fmt.Errorf("session %s: find out whether its command is yours: %w", name, err)
		}
		if yes {
			return nil
		}
	}
	return &Error{
		Kind: Refused, Session: name,
		Text: "its row says what to run, and you have never started that in " + dir + "; others may have written it: " + shown(append([]string{b.program}, b.own...)),
		Next: fmt.Sprintf("read it; to run it: tutti session %s --session %s --trust-row", b.verb, name),
	}
}

// remember remembers what is about to be run as a command of this user's.
func (b *begin) remember() {
	if b.m.o.Started.Remember == nil {
		return
	}
	for _, part := range []string{whole, programOnly} {
		c := b.remembered(part, b.row.Pane.Cwd)
		if c == "" {
			continue
		}
		if err := b.m.o.Started.Remember(c); err != nil {
			b.m.o.Tell(fmt.Sprintf("session %s: its command is not remembered, so --trust-row will be asked for: %v", b.row.Name, err))
			return
		}
	}
}
