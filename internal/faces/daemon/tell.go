package daemon

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// An Event is one thing that happened.
type Event struct {
	Kind string                    // one word, for programs
	Text string                    // for people; cleaned of what a terminal would obey
	Set  func(o *canonjson.Object) // adds members for programs; nil: none

	part   string
	fault  bool // printed also under --quiet, and while everything is halted
	always bool // printed also while everything is halted
}

// A teller prints what happens, each line whole and at once.
type teller struct {
	json, quiet bool
	out, err    io.Writer

	mu     sync.Mutex // guards what follows, and the order of the lines
	halted bool       // as it was said last
	clear  time.Time  // when it was said that the switch was cleared; zero: never
}

// tell prints a line, unless everything is halted.
func (t *teller) tell(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !e.always {
		t.follow()
	}
	if !t.halted || e.always || e.fault {
		t.print(e)
	}
}

// ask says when the switch is another than before.
func (t *teller) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.follow()
}

func (t *teller) follow() {
	s := halt.Settled()
	if s.Halted == t.halted {
		return
	}
	t.halted = s.Halted
	if !s.Halted {
		t.clear = time.Now()
		t.print(Event{Kind: "resumed", Text: "halt cleared; there are no notices about what came meanwhile"})
		return
	}
	reason := s.Reason
	if s.Unreadable {
		reason = "the switch cannot be read"
	}
	text := "halted"
	if reason != "" {
		text += ": " + reason
	}
	t.print(Event{Kind: "halted", Text: text + "; silent until it is cleared", Set: func(o *canonjson.Object) { o.Opt("reason", reason) }})
}

// jsonTime is how times stand in JSON everywhere.
const jsonTime = "2006-01-02T15:04:05.000Z"

// print writes a line. Where it cannot be written the parts go on without; a pipe without a reader ends the program, as the
// system has it.
func (t *teller) print(e Event) {
	now := time.Now()
	if t.quiet && !e.fault {
		return
	}
	if t.json {
		var o canonjson.Object
		o.Str("event", e.Kind)
		o.Str("at", now.UTC().Format(jsonTime))
		o.Opt("part", e.part)
		if e.Set != nil {
			e.Set(&o)
		}
		o.Str("text", termsafe.Clean(e.Text))
		_, _ = t.out.Write(append(o.Bytes(), '\n'))
		return
	}
	text := e.Text
	switch {
	case e.Kind == "part":
		text = "up: " + e.part + " " + text
	case e.part != "":
		text = e.part + ": " + text
	}
	to := t.out
	if e.fault && t.quiet {
		to = t.err
	}
	fmt.Fprintf(to, "%s %s\n", now.Local().Format(time.TimeOnly), termsafe.Clean(text))
}

// first is the first line.
func (u *up) first() Event {
	shown := u.App.Shown(u.world.Root.Path)
	return Event{
		Kind: "up", always: true,
		Text: fmt.Sprintf("up: for %s, process %d; %s", shown, os.Getpid(), "Ctrl-C ends it"),
		Set: func(o *canonjson.Object) {
			o.Int("pid", int64(os.Getpid()))
			o.Str("root", u.world.Root.Path)
			o.Strs("parts", u.names())
		},
	}
}

func (u *up) names() []string {
	var all []string
	for _, p := range u.parts {
		all = append(all, p.Name)
	}
	return all
}
