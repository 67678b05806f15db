package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
	trees "tutti/internal/sessions/worktree"
)

// Options is what a Manager works with.
type Options struct {
	Registry registry.Registry
	// Workspace is the folder in which the user stands: absolute, without links.
	Workspace string
	Home      string                   // of the user, absolute
	Env       func(name string) string // the environment; nil: an empty one
	// Environ is all of it, as "K=V": a program that is started gets what of it is its user's, see passed.
	Environ []string
	// Server is the name of the tmux server for new sessions; "" is the default one.
	Server string
	// Halted is asked before anything is started or typed; nil: never halted.
	Halted func() error
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Bus tells the bus of a session; its functions may be nil.
	Bus Bus
	// Started remembers what this user has started; its functions may be nil, and then nothing is known.
	Started Started
	// Accept asks the user whether the set-up program of a new worktree may run, which is not known to Started; nil: it is not asked.
	Accept func(setup *trees.Setup) bool
	// Jobs tells the job of a session, if it has one; nil: there are no jobs. Events are those of a job's log: progress, error, completed.
	// [ErrJobOver]: the job ended before.
	Jobs func(ctx context.Context, job, event, detail string) error
	// Attached returns the names of our MCP servers that an agent CLI starts in a folder, for the row; nil: it is not known.
	Attached func(agent, dir string) []string
	// Tell gets what a user should see besides the result, one line each; nil: none.
	Tell func(line string)
}

// Started is what was started from this account, outside of any registry. A command is a text without shape.
type Started struct {
	Known    func(command string) (bool, error)
	Remember func(command string) error
}

// A Bus is how sessions are registered on the bus. The agent of a session is there from its first moment, before its own server
// has come up.
type Bus struct {
	// Began is called when the program of a session has been started. It returns the agent's address, which is kept in the row.
	Began func(ctx context.Context, b Birth) (instance string, err error)
	// Ended is called when a session has ended: what kept its agent present is taken away.
	Ended func(ctx context.Context, r *registry.Row) error
	// Kept is called from time to time by a watcher that sees the program of a session alive: its agent is present although no
	// server of its own has come up to say so. It does nothing where one has.
	Kept func(ctx context.Context, b Birth) error
	// Conversation returns the last conversation that hooks reported for the program that a process began, in a folder; "" for
	// none.
	Conversation func(ctx context.Context, agent, dir string, first proc.ID) (string, error)
	// Cleared returns the owner of the session in which "/clear" began a conversation, "" when that is not known. Hooks tell of it.
	Cleared func(agent, conversation string) (owner string)
}

// A Birth is the description of a new session for the bus.
type Birth struct {
	Name, Agent  string
	Owner        string // of the session, see [observe.Variable]
	Conversation string // "" as long as the program has not chosen one
	Dir          string
	Instance     string // the address that the session had before; "" for a new one
	Process      proc.ID
	Pane         tmux.Pane
	Command      []string // as it was started
	Resume       []string // as it would be taken up again; nil where that is not known
}

// A Manager does what is done to the sessions of one registry. It is safe for concurrent use.
type Manager struct {
	o      Options
	at     func(step string) // called between two steps; nil but in tests
	clear  time.Duration     // how long a question may take to go after Escape; clearLimit but in tests
	starts time.Duration     // how long an agent may take to begin its turn after a prompt; startsIn but in tests
	closes time.Duration     // closeGrace but in tests
	tells  time.Duration     // tellsAfter but in tests
}

// New returns the manager of a registry.
func New(o Options) *Manager {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	if o.Halted == nil {
		o.Halted = func() error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return &Manager{o: o, clear: clearLimit, starts: startsIn, closes: closeGrace, tells: tellsAfter}
}

// Registry returns the registry whose sessions it manages.
func (m *Manager) Registry() registry.Registry { return m.o.Registry }

// reached is called between two steps. Tests end the process there.
func (m *Manager) reached(step string) {
	if m.at != nil {
		m.at(step)
	}
}

// place is where the program of a session finds its own files. Programs see their folder without links.
func (m *Manager) place(dir string) driver.Site {
	if real, err := filepath.EvalSymlinks(dir); err == nil && dir != "" {
		dir = real
	}
	return driver.Site{Home: m.o.Home, Dir: dir, Env: m.o.Env}
}

// A Kind says what an [Error] means to a program that called.
type Kind uint8

// The kinds. Their numbers are not exit codes.
const (
	Refused   Kind = iota // not registered, there already, or not allowed in its state
	NotUp                 // the program did not stay up
	Several               // more than one candidate; none was chosen
	StillUp               // something runs on after everything was tried
	NotTheOne             // what is there is not what the row says: nothing was touched
	Unclear               // tmux did not answer: nothing is known, and nothing was done
	Inside                // who asks runs in the session, and would end with it
	Nothing               // there is nothing to go on with, whatever is tried
	Busy                  // another process is at work on it
)

// An Error says what could not be done to a session, and what to type next.
type Error struct {
	Kind    Kind
	Session string
	Text    string
	Err     error  // the underlying error; nil when the text is all
	Next    string // a line to type, or words; "" when there is nothing to suggest
}

func (e *Error) Error() string {
	text := e.Text
	if e.Session != "" {
		text = fmt.Sprintf("session %s: %s", e.Session, text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to type.
func (e *Error) Hint() string { return e.Next }

// row returns one row of the registry.
func (m *Manager) row(ctx context.Context, name string) (registry.Row, error) {
	rows, problems, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return registry.Row{}, err
	}
	for _, r := range rows {
		if r.Name == name {
			return r, nil
		}
	}
	for _, p := range problems {
		if p.Unusable && p.Name == name {
			return registry.Row{}, &Error{Kind: Refused, Session: name, Text: "its row cannot be used: " + p.String(), Next: "edit " + m.o.Registry.Path()}
		}
	}
	return registry.Row{}, errUnregistered
}

// errUnregistered reports a name without a row. Each verb says on its own what to do then.
var errUnregistered = errors.New("not registered")
