package daemon

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// An Event is one thing that happened, as its line for programs. Each kind has the members that say something about it.
type Event struct {
	Kind        string           `json:"event"`
	At          string           `json:"at"`               // set when it is printed
	Part        string           `json:"part,omitempty"`   // the part of tutti up
	Reason      string           `json:"reason,omitempty"` // of a halt
	PID         int              `json:"pid,omitempty"`
	Root        string           `json:"root,omitempty"`
	Parts       []string         `json:"parts,omitzero"` // all that run
	Of          string           `json:"kind,omitempty"` // the kind of what waits for the user
	ID          string           `json:"id,omitempty"`
	For         address.Instance `json:"for,omitempty"`     // the agent
	Machine     string           `json:"machine,omitempty"` // the machine that a message goes to
	Why         string           `json:"why,omitempty"`
	From        string           `json:"from,omitempty"`
	Signature   string           `json:"signature,omitempty"` // the verdict on it
	By          string           `json:"by,omitempty"`        // how the user gets the notice
	Registry    string           `json:"registry,omitempty"`  // file of the session registry
	Session     string           `json:"session,omitempty"`
	Pane        string           `json:"pane,omitempty"`         // the tmux pane
	Class       string           `json:"class,omitempty"`        // what the session monitor saw
	Done        *bool            `json:"done,omitempty"`         // the session monitor acted
	Missed      int              `json:"missed,omitempty"`       // messages that came during a halt
	Mailboxes   int              `json:"mailboxes,omitempty"`    // further ones with unread messages
	Unread      int              `json:"unread,omitempty"`       // unread messages
	Count       *int             `json:"relanceCount,omitempty"` // how often it was asked to continue
	Job         string           `json:"job,omitempty"`
	What        string           `json:"what,omitempty"` // the event of the job
	Detail      string           `json:"detail,omitempty"`
	Escalation  string           `json:"escalation,omitempty"`
	Negotiation string           `json:"negotiation,omitempty"`
	Fallback    string           `json:"fallback,omitempty"` // the default that applies now
	Text        string           `json:"text"`               // sanitised

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
	t.print(Event{Kind: "halted", Text: text + "; silent until it is cleared", Reason: reason})
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
		e.At, e.Text = now.UTC().Format(jsonTime), termsafe.Clean(e.Text)
		_, _ = t.out.Write(append(render.JSON(e), '\n'))
		return
	}
	text := e.Text
	switch {
	case e.Kind == "part":
		text = "up: " + e.Part + " " + text
	case e.Part != "":
		text = e.Part + ": " + text
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
		PID:  os.Getpid(), Root: u.world.Root.Path, Parts: render.List(u.names()),
	}
}

func (u *up) names() []string {
	var all []string
	for _, p := range u.parts {
		all = append(all, p.Name)
	}
	return all
}
