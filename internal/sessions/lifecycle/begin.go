package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// The verbs that begin a session, as they stand in intents.
const (
	VerbCreate = "create"
	VerbResume = "resume"
)

// stepClaimed is the step of such an intent: nothing was started yet. What was done since is found by looking.
const stepClaimed = "claimed"

// The members of a row that this package adds.
const (
	looksMember    = "looks"    // the looks at a new session that were done: "start", "0.3s", "2s"
	worktreeMember = "worktree" // {"path":…,"branch":…,"new":true}: the folder was made for the session
	promptMember   = "first_prompt"
	beforeMember   = "before" // the row as it was, as long as the result of an intent to begin is unknown
)

// The looks at a new session, by when they are done.
const lookStart = "start"

var laterLooks = []struct {
	name  string
	after time.Duration
}{{"0.3s", 300 * time.Millisecond}, {"2s", 2 * time.Second}}

// A begin is a session that is being begun.
type begin struct {
	m       *Manager
	verb    string
	kind    *driver.Driver
	argv    []string // what is run
	program string
	own     []string // the program, and what of its arguments is its user's
	server  tmux.Server
	row     registry.Row // as it was written last
	pane    tmux.Pane
	first   proc.ID // of the pane
	at      time.Time
	seen    driver.Seen
	screen  string // the last one that was looked at
	ended   bool   // its end was found
	marked  bool   // another process has written that end
	visit   bool   // it was begun before: what becomes of it is not ours to write down
	where   string // the id of the pane that is visited; "": that of the session of the row
}

// newOwner makes the owner of a session.
func newOwner() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make an owner: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// intent is what this process is at.
func (m *Manager) intent(verb, step string) *registry.Intent {
	self := proc.Self()
	return &registry.Intent{Verb: verb, Step: step, At: registry.Stamp(m.o.Now()), PID: self.PID, Start: self.Start, Boot: self.Boot}
}

// ours tells whether an intent is of this process.
func ours(i *registry.Intent) bool {
	self := proc.Self()
	return i != nil && proc.ID{PID: i.PID, Start: i.Start, Boot: i.Boot} == self
}

// errTaken reports a row that another process has changed meanwhile: the decision about it is no longer valid.
var errTaken = errors.New("another process is at work on it")

// start starts the program. What it returns as an error is that nothing runs.
func (b *begin) start(ctx context.Context) error {
	if err := b.m.o.Halted(); err != nil {
		return err
	}
	b.remember()
	var err error
	b.at = b.m.o.Now()
	b.pane, err = b.server.New(ctx, tmux.Spec{
		Name: b.row.Name, Dir: b.row.Pane.Cwd, Argv: b.argv, Env: passed(b.m.o.Environ, b.row.OwnerID, b.m.home()), Owner: b.row.OwnerID,
		Isolated: b.row.ServerName() != "default",
	})
	if err != nil {
		err = b.notStarted(ctx, err)
	}
	return err
}

// home is the workspace of the registry; of one that lies elsewhere, where the user stands.
func (m *Manager) home() string {
	dir := filepath.Dir(m.o.Registry.Path())
	if name := filepath.Base(dir); name == registry.Folder || name == registry.OldFolder {
		return filepath.Dir(dir)
	}
	return m.o.Workspace
}

// notStarted says why nothing was started. After some errors a session may have been made all the same; its owner tells.
func (b *begin) notStarted(ctx context.Context, err error) error {
	var taken *tmux.DuplicateError
	switch {
	case errors.As(err, &taken):
		return &Error{
			Kind: NotTheOne, Session: b.row.Name, Text: "tmux server " + b.row.ServerName() + " has a session of that name that is not ours",
			Next: "--session takes another name",
		}
	case errors.Is(err, exec.ErrNotFound):
		return noProgram(b.row.Name, b.argv[0])
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Kind: Refused, Session: b.row.Name, Text: "it cannot be started", Err: err}
	}
	pane, e := b.server.Find(context.WithoutCancel(ctx), b.row.Name)
	switch {
	case e == nil && pane.Owner == b.row.OwnerID:
		b.pane = pane
		return nil
	case e == nil || errors.Is(e, tmux.ErrAbsent):
		return &Error{Kind: Refused, Session: b.row.Name, Text: "it cannot be started", Err: err}
	}
	return &Error{Kind: Unclear, Session: b.row.Name, Text: "tmux did not say whether it was started", Err: errors.Join(err, e), Next: "tutti session status " + b.row.Name}
}

// adrift tells whether an error of start leaves it open what runs. The row then keeps the intent, held by no process, so that
// the next look finds out.
func (b *begin) adrift(ctx context.Context, err error) bool {
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unclear {
		return false
	}
	_ = b.change(ctx, func(r *registry.Row) { // with this process in it, it is found when that has ended
		if ours(r.Intent) {
			r.Intent.PID, r.Intent.Start, r.Intent.Boot = 0, 0, ""
		}
	})
	return true
}

// announce tells the bus, looks at the session for the first time, and writes both down. The
// error is of kind NotUp when the program has ended.
func (b *begin) announce(ctx context.Context) error {
	id, err := proc.Of(b.pane.PID)
	if err == nil {
		b.first = id
	}
	b.m.reached("started")
	if b.first.PID != 0 {
		if instance := b.tellBus(ctx); instance != "" {
			b.row.Instance = instance
		}
	}
	b.m.reached("told")
	if b.endedAtOnce(ctx) {
		return b.over(ctx, lookStart)
	}
	err = b.change(ctx, func(r *registry.Row) {
		b.m.lives(r, &b.pane, b.first)
		now := registry.Stamp(b.m.o.Now())
		if b.verb == VerbResume {
			r.ResumedAt = now
		}
		r.Set(looksMember, []byte(`["`+lookStart+`"]`))
		r.Intent = nil
	})
	b.m.reached("recorded")
	return err
}

// lives writes into a row what runs in its session, and takes away what it says of an end before.
func (m *Manager) lives(r *registry.Row, pane *tmux.Pane, first proc.ID) {
	r.Clear("terminated_at", "termination_mode", "archived_at", "stopped_at", "stop_reason", "resumable", "last_visible_screen", "last_visible_note",
		lostMember, beforeMember)
	m.present(r, pane, first)
}

// present writes into a row what runs in its session.
func (m *Manager) present(r *registry.Row, pane *tmux.Pane, first proc.ID) {
	r.Status, r.VisibleStatus = registry.Running, registry.Running
	r.Pane.PID, r.Pane.ID, r.Pane.StartTicks = pane.PID, pane.ID, first.Start
	if pane.Command != "" {
		r.Pane.Cmd = pane.Command
	}
	r.TmuxSession, r.BootID = pane.Session, proc.BootID()
}

// busLimit is how long the bus may take to be told; it takes some milliseconds.
const busLimit = 10 * time.Second

// tellBus registers the agent on the bus, and returns the agent's address, "" for none. A failure is not a reason to end the
// agent.
func (b *begin) tellBus(ctx context.Context) string {
	if b.m.o.Bus.Began == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), busLimit)
	defer cancel()
	instance, err := b.m.o.Bus.Began(ctx, b.m.birth(&b.row, &b.pane, b.first))
	if err != nil {
		b.m.o.Tell(fmt.Sprintf("session %s is not on the bus yet: %v", b.row.Name, err))
	}
	return instance
}

// birth is the description of a session for the bus.
func (m *Manager) birth(r *registry.Row, pane *tmux.Pane, first proc.ID) Birth {
	return Birth{
		Name: r.Name, Agent: r.Kind(), Owner: r.OwnerID, Conversation: r.Conversation(), Dir: r.Pane.Cwd, Instance: r.Instance,
		Process: first, Pane: *pane, Command: r.StartArgv, Resume: []string{"tutti", "session", "resume", r.Name},
	}
}

// KeepPresent tells the bus that the agent of a session is there, whose program was just seen alive.
func (m *Manager) KeepPresent(ctx context.Context, r *registry.Row, s *observe.Observation) {
	if m.o.Bus.Kept == nil || s.State != observe.Alive {
		return
	}
	if err := m.o.Bus.Kept(ctx, m.birth(r, &s.Pane, s.Process)); err != nil {
		m.o.Tell("session " + r.Name + ": its presence cannot be kept: " + err.Error())
	}
}

// change changes the row of the session, if it is still the one of this owner.
func (b *begin) change(ctx context.Context, f func(r *registry.Row)) error {
	return b.changeIf(ctx, func(r *registry.Row) bool { f(r); return true })
}

// changeIf is change by a function that may want nothing changed.
func (b *begin) changeIf(ctx context.Context, f func(r *registry.Row) bool) error {
	row, err := b.m.o.Registry.Change(context.WithoutCancel(ctx), b.row.Name, func(r *registry.Row, found bool) error {
		if !found || r.OwnerID != b.row.OwnerID {
			return errTaken
		}
		if b.row.Instance != "" {
			r.Instance = b.row.Instance
		}
		if !f(r) {
			return registry.ErrNoChange
		}
		return nil
	})
	if errors.Is(err, errTaken) {
		return &Error{Kind: NotTheOne, Session: b.row.Name, Text: "its row was given to another session meanwhile", Next: "tutti session status " + b.row.Name}
	}
	if err != nil {
		return fmt.Errorf("session %s runs, and its row could not be written: %w", b.row.Name, err)
	}
	b.row = row
	return nil
}
