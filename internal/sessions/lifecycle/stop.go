package lifecycle

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// ManualStop is the reason of a stop for which none was given.
const ManualStop = "manual_stop"

// A Mode is how older programs wanted a session to end.
type Mode uint8

// The modes.
const (
	Graceful Mode = iota
	Hard          // the row is terminated, though the conversation is kept
	Soft          // the row is put away, and nothing ends
)

// A StopRequest says which session is to end, and how.
type StopRequest struct {
	Session string
	Reason  string // free text; "": ManualStop
	// Purge also deletes the conversation, to which its user has agreed with Yes.
	Purge, Yes bool
	// Conversation names the one that a purge deletes. It is needed for one that the session did not begin.
	Conversation string
	ToTrash      bool // a purge copies it into the trash first, see [Stopped.Trash]
	// ForceNoYAML ends what tmux has under the name although no row can be read. No row is made.
	ForceNoYAML bool
	// Force also ends a session of that name that is not the one of the row, and one that a row of an ended session has.
	Force bool
	// Grace is how long the program may take to end after it was asked to; 0: as long as programs of its kind take.
	Grace time.Duration
	// NoKeys: nothing is typed, also where the program waits for its user.
	NoKeys bool
	// WithDaemon also ends the server that the program keeps in the background, which other sessions may use.
	WithDaemon bool
	// JobEvent is the event for its job at the end; "": that it failed, unless it has said itself how it ended.
	JobEvent string
	Mode     Mode
	// Apart: this process has left the session that it stops, if it was started there.
	Apart bool
	// Begun is called once the stop is in the registry; nil: not called.
	Begun func()
}

// Stopped is the result of a stop.
type Stopped struct {
	Session string
	Was     registry.Status // "" without a row
	Row     registry.Row    // as it is now; the zero one without a row
	Already bool            // nothing was to be done
	Gone    bool            // tmux had no such session any more
	Exited  bool            // the program had ended before, its last screen was still shown
	// Steps are what it took to end it, in order.
	Steps        []string
	Conversation string              // "" when it is not known
	Deleted      []string            // what a purge deleted
	Trash        string              // the folder with a copy of it; "" for none
	Kept         []Remains           // what a purge left
	Forgot       string              // the CLI that was asked to delete it itself, by its title; "" for none
	Ended        []proc.Process      // what belonged to the session
	Left         []proc.Process      // what could not be ended
	Apart        []observe.Bystander // what was started in it and lives on
	Notes        []string            // what a user should know besides
	Took         time.Duration       // of the ladder
	Lives        bool                // it was put away, and goes on in tmux
	Err          error               // of [Manager.StopAll]: why it was not stopped, or what could not be written
}

// A Remains is something of the conversation that a purge did not delete.
type Remains struct{ Path, Why string }

// Steps of a stop, as Stopped has them.
const (
	StepKeys    = "its own exit command"
	StepEscape  = "Escape, for a question was open or might have been"
	StepTerm    = "SIGTERM"
	StepKill    = "kill-session"
	StepSIGKILL = "SIGKILL"
)

// Stop ends a session: the program, whatever it has started, and its tmux session, in the order that loses least. The row says
// what is being done before it is done, and that it is done once that is certain. A session that has ended already is not an
// error.
//
// What could not be ended is named by an error of kind StillUp. When the context ends, what was begun is left where it is, the row
// says so, and another Stop goes on from there.
func (m *Manager) Stop(ctx context.Context, q StopRequest) (*Stopped, error) {
	if q.Purge && !q.Yes {
		return nil, &Error{Kind: Refused, Session: q.Session, Text: "deleting its conversation cannot be undone and was not agreed to", Next: "--yes"}
	}
	if q.Purge && q.Mode == Soft {
		return nil, &Error{Kind: Refused, Session: q.Session, Text: "a session that goes on keeps its conversation: --mode soft and a purge do not go together"}
	}
	row, err := m.row(ctx, q.Session)
	s := &stopping{m: m, q: q, row: row, out: &Stopped{Session: q.Session, Was: row.Status, Row: row}}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case q.ForceNoYAML && q.Mode == Soft:
		return nil, &Error{Kind: Refused, Session: q.Session, Text: "--mode soft puts a row away and ends nothing, and there is no row that can be used", Err: err}
	case q.ForceNoYAML:
		if !errors.Is(err, errUnregistered) && !errors.Is(err, fs.ErrNotExist) {
			s.note("the registry cannot be used: %v", err)
		}
		s.bare = true
		s.row = registry.Row{Name: q.Session, Server: m.o.Server}
	case errors.Is(err, errUnregistered), errors.Is(err, fs.ErrNotExist):
		return nil, &Error{
			Kind: Refused, Session: q.Session, Text: "not in the registry " + m.o.Registry.Path(),
			Next: `"tutti session list --all" lists all sessions. If tmux has a session of this name, register it (tutti session create --session ` + q.Session + " --agent CLI), or stop it with --force-no-yaml",
		}
	default:
		return nil, err
	}
	err = s.run(ctx)
	return s.out, err
}

// run is the whole of it.
func (s *stopping) run(ctx context.Context) (err error) {
	if d, ok := driver.Kind(s.row.Kind()); ok {
		s.life = d.Life
	}
	if s.srv, err = observe.ServerOf(&s.row); err != nil {
		return s.fail(Refused, err, "its tmux server cannot be meant", "edit "+s.m.o.Registry.Path())
	}
	if s.q.Mode == Soft && !s.bare {
		return s.archive(ctx)
	}
	for {
		if err = s.once(ctx); !errors.Is(err, errBusy) {
			return err
		}
	}
}

// errBusy reports that another process was faster.
var errBusy = errors.New("another process is at it")

// once waits for its turn and stops the session.
func (s *stopping) once(ctx context.Context) error {
	if err := s.turn(ctx); err != nil {
		return err
	}
	s.find(ctx)
	ended := s.row.Status != registry.Running && !s.bare
	lives := s.sight.State == observe.Alive || s.sight.State == observe.Other && !s.sight.Foreign
	if ended && !(lives && (s.q.Force || s.q.Purge || s.row.Status == registry.Archived)) {
		if s.remained = s.remains(); !s.remained {
			return s.ended(ctx, lives)
		}
	}
	if err := s.judge(ctx); err != nil {
		return err
	}
	if !s.q.Apart && s.within() {
		return s.fail(Inside, nil, "this program runs in it, and would end with it", "run it from another terminal")
	}
	if err := s.recordIntent(ctx); err != nil {
		return err
	}
	return s.finish(ctx, s.endProcesses(ctx))
}

// StopAll stops every session that runs, several at a time, and returns each result in the order of the registry. The error is
// all of theirs, and what is wrong with the registry.
func (m *Manager) StopAll(ctx context.Context, q StopRequest) ([]*Stopped, error) {
	rows, problems, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r registry.Row) bool { return r.Status != registry.Running })
	all, failed := make([]*Stopped, len(rows)), make([]error, len(rows))
	room := make(chan struct{}, atOnce)
	done := make(chan struct{})
	for i := range rows {
		go func() {
			room <- struct{}{}
			one := q
			one.Session = rows[i].Name
			out, err := m.Stop(ctx, one)
			if out == nil {
				out = &Stopped{Session: one.Session, Was: rows[i].Status, Row: rows[i]}
			}
			out.Err = err
			all[i], failed[i] = out, err
			<-room
			done <- struct{}{}
		}()
	}
	for range rows {
		<-done
	}
	for _, p := range problems {
		if p.Unusable {
			failed = append(failed, &Error{Kind: Refused, Session: p.Name, Text: "its row cannot be used: " + p.String(), Next: "edit " + m.o.Registry.Path()})
		}
	}
	return all, errors.Join(failed...)
}

// atOnce is how many sessions are ended at a time.
const atOnce = 4
