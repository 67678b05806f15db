package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// gather adds the current processes of the session to the former ones. If there are none, no process can be started in it any
// more.
func (s *stopping) gather() {
	kin, apart, err := observe.Processes(&s.as, s.first)
	if err != nil {
		s.note("the processes could not be listed: %v", err)
		return
	}
	s.empty = len(kin) == 0
	for _, p := range kin {
		if !slices.ContainsFunc(s.kin, func(o proc.Process) bool { return o.ID == p.ID }) {
			s.kin = append(s.kin, p)
		}
	}
	for _, b := range apart {
		if !slices.ContainsFunc(s.out.Apart, func(o observe.Bystander) bool { return o.ID == b.ID }) {
			s.out.Apart = append(s.out.Apart, b)
		}
	}
}

// remains tells whether processes of a session run that has ended, in the registry and in tmux: its agent CLI ended by itself and left
// them.
func (s *stopping) remains() bool {
	if s.sight.State != observe.Absent && s.sight.State != observe.Dead {
		return false
	}
	first, known := observe.FirstProcess(&s.row)
	if !known && s.row.OwnerID == "" {
		return false
	}
	s.as, s.first = s.row.Clone(), first
	s.gather()
	return len(s.alive()) > 0
}

// alive are those of the session that still run.
func (s *stopping) alive() (all []proc.Process) {
	for _, p := range s.kin {
		if p.Alive() {
			all = append(all, p)
		}
	}
	return all
}

// allGone waits until processes have ended, and tells whether they have.
func allGone(ctx context.Context, limit time.Duration, all ...proc.ID) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return len(proc.Gone(ctx, all)) == 0
}

// daemons ends the background server of the program, if requested, and remembers which other processes live on.
func (s *stopping) daemons(ctx context.Context) error {
	s.out.Apart = slices.DeleteFunc(s.out.Apart, func(b observe.Bystander) bool { return !b.Alive() })
	if !s.q.WithDaemon {
		return nil
	}
	all, err := proc.List()
	if err != nil {
		return err
	}
	var left []observe.Bystander
	for _, b := range s.out.Apart {
		if !b.Program {
			left = append(left, b)
			continue
		}
		tree := proc.Tree(all, b.ID)
		for _, p := range tree {
			_ = proc.Signal(p.ID, syscall.SIGTERM) // as above
		}
		if !allGone(ctx, restGrace, ids(tree)...) {
			for _, p := range tree {
				_ = proc.Signal(p.ID, syscall.SIGKILL)
			}
			allGone(ctx, killLimit, ids(tree)...)
		}
		s.kin = append(s.kin, tree...)
	}
	s.out.Apart = left
	return nil
}

// listed lists processes as people look for them.
func listed(ps []proc.Process) string {
	var all []string
	for _, p := range ps {
		all = append(all, fmt.Sprintf("%d (%s)", p.PID, p.Comm))
	}
	return strings.Join(all, ", ")
}
