package lifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
)

// An Inhabitant says which agent is looked for in panes.
type Inhabitant struct {
	Kind string // of program, as in addresses
	Pane string // the id of its pane, as somebody wrote it down; "" finds nothing
	// Session is the name of its session of tmux, "" where nobody knows. Kept is its session on the bus; nil: there is none that counts.
	Session string
	Kept    *presence.Session
	PID     int       // a process of it, or of its server; 0 where nobody knows
	By      time.Time // its program was there by then; of one with a session on the bus, when that began
}

// A Resident is an agent in its pane.
type Resident struct {
	Server  tmux.Server
	Pane    tmux.Pane
	Process proc.ID // of the program, or of the one in front of which it is
	Driver  *driver.Driver
}

// Inhabitants finds the panes in which an agent lives: the pane has that id, and below its first process runs a program of that kind which was
// there by then. The id alone says nothing, because every server of tmux counts from the beginning; so there can be more than one, and then nobody
// knows which. Without an error a result without any means that there is none.
func Inhabitants(ctx context.Context, servers []tmux.Server, q Inhabitant) (all []Resident, err error) {
	d, ok := driver.Kind(q.Kind)
	if !ok || q.Pane == "" {
		return nil, nil
	}
	var processes []proc.Process
	for _, s := range servers {
		snap, err := s.Panes(ctx)
		if errors.Is(err, tmux.ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		pane, ok := snap.Find(q.Pane)
		if !ok || pane.Dead || q.Session != "" && pane.SessionName != q.Session {
			continue
		}
		if processes == nil {
			if processes, err = proc.List(); err != nil {
				return nil, err
			}
		}
		if id, ok := q.in(d, pane, processes); ok {
			all = append(all, Resident{s, pane, id, d})
		}
	}
	return all, nil
}

// in returns the program of the agent in a pane.
func (q *Inhabitant) in(d *driver.Driver, pane tmux.Pane, all []proc.Process) (proc.ID, bool) {
	const rounding = time.Second
	root, err := proc.Of(pane.PID)
	if err != nil {
		return proc.ID{}, false
	}
	by := q.By
	if q.Kept != nil {
		began, ok := envelope.ParseTime(q.Kept.StartedAt)
		if !ok {
			return proc.ID{}, false
		}
		by = began
		if !livesIn(q.Kept, pane, all) {
			return proc.ID{}, false
		}
	}
	tree := proc.Tree(all, root)
	i := slices.IndexFunc(tree, func(p proc.Process) bool {
		return slices.Contains(d.Life.Comms, p.Comm) && before(p.PID, by.Add(rounding)) && p.Alive()
	})
	if i < 0 {
		return proc.ID{}, false
	}
	return tree[i].ID, true
}
