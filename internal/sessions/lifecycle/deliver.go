package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// deliverWait is how long a text waits until the agent rests: one that has just reported something ends its turn after that, and
// that takes as long as its model likes.
const deliverWait = 5 * time.Minute

// Deliver types a text into the program of a session and submits it, as a person would: when the screen shows that the agent is
// idle, asks nothing, and that no one has begun to type. nil means that the place where its user types is empty again. The text
// arrives byte for byte, but for line feeds at its end, or is refused. A *halt.Error means that nothing was typed.
func (m *Manager) Deliver(ctx context.Context, name, text string) error {
	return m.DeliverWithin(ctx, name, text, deliverWait)
}

// DeliverWithin is Deliver with another limit for how long the agent may take to rest; 0: five minutes.
func (m *Manager) DeliverWithin(ctx context.Context, name, text string, limit time.Duration) error {
	if limit <= 0 {
		limit = deliverWait
	}
	if err := m.o.Halted(); err != nil {
		return err
	}
	text = strings.TrimRight(text, "\n")
	if err := typable(name, text); err != nil {
		return err
	}
	b, err := m.visit(ctx, name)
	if err != nil {
		return err
	}
	return b.deliver(ctx, text, limit)
}

// typesOnly is why nothing is typed into another program: its screen does not tell what it does.
const typesOnly = "tutti types only into Claude Code, Codex, Gemini CLI and opencode, and into agent CLIs of your settings with rules for their screens"

// typable is nil for a text that can be typed as it is.
func typable(name, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &Error{Kind: Refused, Session: name, Text: "there is nothing to type"}
	case tmux.Clean(text) != text:
		return &Error{Kind: Refused, Session: name, Text: "the text has control characters in it, or is not valid UTF-8: to a terminal they are keys"}
	case len(text) > tmux.MaxPaste:
		return &Error{Kind: Refused, Session: name, Text: fmt.Sprintf("the text has %d bytes, and %d are the limit", len(text), tmux.MaxPaste)}
	}
	return nil
}

// deliver types a text into a program that is visited.
func (b *begin) deliver(ctx context.Context, text string, limit time.Duration) error {
	state, err := b.give(ctx, text, limit)
	if _, stopped := errors.AsType[*halt.Error](err); stopped && state != promptUngiven {
		err = b.untyped(fmt.Sprintf("its prompt was typed and not submitted: %v", err), nil) // not the error of which nothing came
	}
	return err
}

// visit finds the program of a session that was begun before.
func (m *Manager) visit(ctx context.Context, name string) (*begin, error) {
	r, err := m.row(ctx, name)
	if errors.Is(err, errUnregistered) {
		return nil, &Error{Kind: Refused, Session: name, Text: "it is not in the registry " + m.o.Registry.Path(), Next: "tutti session list"}
	}
	if err == nil {
		r, err = m.settled(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	b := &begin{m: m, row: r, visit: true, at: m.o.Now()}
	var known bool
	if b.kind, known = driver.Kind(r.Kind()); !known || b.kind.Life.Screen == nil {
		return nil, &Error{Kind: Refused, Session: name, Text: typesOnly}
	}
	s := observe.Look(ctx, &r)
	switch s.State {
	case observe.Unknown:
		return nil, &Error{Kind: Unclear, Session: name, Text: "tmux does not say whether it runs", Err: s.Err, Next: "tutti session status " + name}
	case observe.Other:
		return nil, &Error{Kind: NotTheOne, Session: name, Text: "what tmux has under that name is not what the registry says", Next: "tutti session status " + name}
	case observe.Absent, observe.Dead:
		return nil, b.left()
	}
	b.pane, b.first = s.Pane, s.Process
	b.server, err = observe.ServerOf(&r)
	return b, err
}

// left says that the program of a session that was visited has ended. Nothing is written down: who looks after sessions does.
func (b *begin) left() error {
	b.ended = true
	e := &Error{Kind: Refused, Session: b.row.Name, Text: "its program has ended", Next: "tutti session resume " + b.row.Name}
	if b.where != "" {
		e.Next = ""
	}
	return e
}

// inFront tells whether what is in front in the pane is the program of the session. Of one that was just begun it is known.
func (b *begin) inFront() bool {
	if !b.visit {
		return true
	}
	if b.pane.PID != b.first.PID || !b.first.Alive() {
		return false
	}
	if slices.Contains(b.kind.Life.Comms, b.pane.Command) {
		return true
	}
	comm, err := proc.Comm(b.first.PID)
	if err == nil && comm == b.pane.Command && !isShell(comm) {
		return true
	}
	argv, err := proc.Cmdline(b.first.PID) // node names its process as it likes, and a shell may run the script of the program
	return err == nil && len(argv) > 0 && filepath.Base(argv[0]) == b.pane.Command &&
		observe.Runs(b.kind, proc.Process{ID: b.first, Comm: comm})
}

// Owner returns the id that the processes of a session carry, see [Variable].
func (m *Manager) Owner(ctx context.Context, name string) (string, error) {
	r, err := m.row(ctx, name)
	switch {
	case errors.Is(err, errUnregistered):
		return "", &Error{Kind: Refused, Session: name, Text: "it is not in the registry " + m.o.Registry.Path(), Next: "tutti session list"}
	case err == nil && r.OwnerID == "":
		return "", &Error{Kind: Refused, Session: name, Text: "it was begun by an older program, and its processes carry no mark"}
	}
	return r.OwnerID, err
}

// Assign writes into the row of a session on which job it works.
func (m *Manager) Assign(ctx context.Context, name, job string) error {
	_, err := m.o.Registry.Change(ctx, name, func(r *registry.Row, found bool) error {
		switch {
		case !found:
			return &Error{Kind: Refused, Session: name, Text: "it is not in the registry " + m.o.Registry.Path(), Next: "tutti session list"}
		case r.Job == job:
			return registry.ErrNoChange
		}
		r.Job = job
		return nil
	})
	if errors.Is(err, registry.ErrNoChange) {
		return nil
	}
	return err
}
