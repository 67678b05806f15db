package observe

import (
	"context"
	"errors"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// A State is what is found of a session, whatever its row says.
type State uint8

// The states.
const (
	Unknown State = iota // tmux did not answer
	Absent               // no server, or no session of that name
	Alive                // the program of the row runs in the session
	Dead                 // the session is there, its program has ended
	Other                // the session is there, but is not the one of the row: another owner, or another first process
)

func (s State) String() string { return [...]string{"unknown", "absent", "alive", "dead", "other"}[s] }

// A Observation is one look at the session of a row.
type Observation struct {
	State State
	Pane  tmux.Pane // with Alive, Dead and Other
	// Process is the first process of the pane, with Alive. The program may be below it.
	Process proc.ID
	// Foreign: the session has another owner than the row, or none. Replaced: the owner is right, the first process is another one.
	Foreign, Replaced bool
	Err               error // with Unknown
}

// ServerOf is the tmux server of a row.
func ServerOf(r *registry.Row) (tmux.Server, error) { return tmux.Named(r.Server) }

// Judge judges what was found under the name of a row, or why nothing was.
func Judge(r *registry.Row, pane tmux.Pane, err error) Observation {
	switch {
	case errors.Is(err, tmux.ErrAbsent):
		return Observation{State: Absent}
	case err != nil:
		return Observation{Err: err}
	}
	s := Observation{State: Other, Pane: pane}
	if s.Foreign = r.OwnerID != pane.Owner; s.Foreign {
		return s
	}
	id, err := proc.Of(pane.PID)
	switch {
	case pane.Dead, errors.Is(err, proc.ErrGone): // tmux may not have noticed yet
		if s.Foreign = !endedThere(r, &pane); !s.Foreign {
			s.State = Dead
		}
		return s
	case err != nil:
		return Observation{Pane: pane, Err: err}
	}
	s.Process = id
	s.Replaced = !isOf(r, id)
	if !s.Replaced {
		s.State = Alive
	}
	return s
}

// endedThere tells whether a program that has ended in a pane was the row's. Without an owner on either side the pid is all that there is:
// anybody's session can have the name.
func endedThere(r *registry.Row, pane *tmux.Pane) bool {
	return r.OwnerID != "" || r.Pane.PID == pane.PID
}

// isOf tells whether a process is the first one of the row's pane. Rows of older programs know its pid alone; with a session that
// has no owner either that has to do.
func isOf(r *registry.Row, id proc.ID) bool {
	return r.Pane.PID == id.PID && (r.Pane.StartTicks == 0 || r.Pane.StartTicks == id.Start) && (r.BootID == "" || r.BootID == id.Boot)
}

// FirstProcess is the first process of the row's pane as the row remembers it. ok is false when the row says too little to signal
// anybody, or when it is of another boot.
func FirstProcess(r *registry.Row) (id proc.ID, ok bool) {
	if r.Pane.PID <= 1 || r.Pane.StartTicks == 0 || r.BootID != proc.BootID() {
		return proc.ID{}, false
	}
	return proc.ID{PID: r.Pane.PID, Start: r.Pane.StartTicks, Boot: r.BootID}, true
}

// RememberedProcess is FirstProcess, and for a row of an older program, which has the pid alone, the process that has that pid
// now. sure is false then: nothing is certain, so it must not be signalled.
func RememberedProcess(r *registry.Row) (id proc.ID, sure bool) {
	if id, sure = FirstProcess(r); sure || r.Pane.PID <= 1 || r.Pane.StartTicks != 0 || EarlierBoot(r) {
		return id, sure
	}
	id, _ = proc.Of(r.Pane.PID) // the zero ID when there is none
	return id, false
}

// Unreachable says of a tmux server why nothing is known of its sessions.
const Unreachable = "runs and cannot be reached: its socket was removed, or is in another folder (TMUX_TMPDIR)"

// Variable is in the environment of everything that runs in a session. Its value is the owner of the session.
const Variable = "TUTTI_SESSION"

// HomeVariable is there, too. Its value is the workspace that the registry belongs to: the folder in which the agent works may be
// another one.
const HomeVariable = "TUTTI_WORKSPACE"

// Look finds the session of a row.
func Look(ctx context.Context, r *registry.Row) Observation {
	s, err := ServerOf(r)
	if err != nil {
		return Observation{Err: err}
	}
	pane, err := s.Find(ctx, r.Name)
	return Judge(r, pane, err)
}

// EarlierBoot tells whether a session was begun before the machine was started. Rows of older programs do not say.
func EarlierBoot(r *registry.Row) bool { return r.BootID != "" && r.BootID != proc.BootID() }
