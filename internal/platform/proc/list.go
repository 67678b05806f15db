package proc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"syscall"
	"time"
)

// A Process is what a look at all processes shows of one. Numbers of groups and sessions are the pids of their leaders, which
// may have ended long ago; as long as there are members, the number is not given to another process.
type Process struct {
	ID
	Parent  int // pid; 1, or that of a reaper, when the one that started it has ended
	Group   int
	Session int
	TTY     int    // number of the terminal's device; 0 on Linux, -1 on macOS: none
	Comm    string // as Comm tells it
}

func (st stat) process(pid int) Process {
	return Process{ID{pid, st.start, BootID()}, st.parent, st.group, st.session, st.tty, st.comm}
}

// List returns the processes that run, threads of the kernel among them, by pid. It is not a snapshot: processes that start or
// end meanwhile may be in it or not. Those that have ended and wait for their parents are not. A hundred take less than 1 ms.
func List() ([]Process, error) {
	all, err := list()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all, nil
}

// Tree returns the process and all that were started below it, parents before their children; nothing when it is not in the list.
// What has left the tree, because the one that started it has ended, is found by its session or terminal, or by [WithEnv].
func Tree(all []Process, root ID) []Process {
	i := slices.IndexFunc(all, func(p Process) bool { return p.ID == root })
	if i < 0 {
		return nil
	}
	children := make(map[int][]Process, len(all))
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	tree := []Process{all[i]}
	seen := map[int]bool{root.PID: true}
	for next := 0; next < len(tree); next++ {
		parent := tree[next]
		for _, p := range children[parent.PID] {
			// One that is older than its parent was seen before that pid changed hands.
			if p.Start >= parent.Start && !seen[p.PID] {
				seen[p.PID] = true
				tree = append(tree, p)
			}
		}
	}
	return tree
}

// ErrNotLeader reports a process that leads no group: its pid would name another group, or none.
var ErrNotLeader = errors.New("process does not lead its group")

// SignalGroup sends sig to all processes of the group that this process leads. ErrGone: the leader has ended, and no process
// was signalled; what is left of its group is signalled one by one. ErrNotLeader: no process was signalled either.
// ErrNotLeader: neither was anybody.
func SignalGroup(leader ID, sig syscall.Signal) error {
	err := ErrGone
	if leader.PID > 1 { // to kill(2) the others are everybody, or our own group
		err = signalGroup(leader, sig)
	}
	if err == syscall.ESRCH {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal the group of %v: %w", leader, err)
	}
	return nil
}

// leads returns nil for a process that runs and leads its group.
func leads(id ID) error {
	st, err := status(id.PID)
	if err != nil || st.dead || st.start != id.Start || id.Boot != BootID() {
		return ErrGone
	}
	if st.group != id.PID {
		return fmt.Errorf("%w: it is in group %d", ErrNotLeader, st.group)
	}
	return nil
}

// glance is how often a process is looked at where nothing tells of its end.
const glance = 20 * time.Millisecond

// Gone waits until all these processes have ended, and returns those that still run when the context ends before. Where the system
// has handles on processes nothing wakes up but for an end; elsewhere it looks every 20 ms. A process that has ended and waits for its
// parent has ended.
func Gone(ctx context.Context, ids []ID) (left []ID) {
	var unheld []ID // without a handle
	var ends []<-chan struct{}
	for _, id := range ids {
		ended, stop, err := End(id)
		switch {
		case err == nil:
			defer stop()
			ends = append(ends, ended)
		case !errors.Is(err, ErrGone): // no handles here, or no more of them
			unheld = append(unheld, id)
		}
	}
	for _, ended := range ends {
		select {
		case <-ended:
		case <-ctx.Done():
			return running(ids)
		}
	}
	for unheld = running(unheld); len(unheld) > 0; unheld = running(unheld) {
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return running(unheld)
		}
	}
	return nil
}

func running(ids []ID) (left []ID) {
	for _, id := range ids {
		if id.Alive() {
			left = append(left, id)
		}
	}
	return left
}

// WithEnv returns the processes of this user that were started with this variable in their environment: those, too, that have left
// their parent, group, session and terminal. It may hold the process that asks, and those above it. Not seen are programs that hide
// their memory from their own user, have cleaned the environment before they started the next one, or have written over it.
// On macOS programs of the system do not show it.
func WithEnv(name, value string) []Process {
	all := withEnv([]byte(name + "=" + value))
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all
}
