// Package proc knows the processes of this machine: who they are, whether they still run, and who started them.
//
// A pid is not an identity: the system gives it to another process as soon as the first one is gone, and to any process after a
// boot. An [ID] is pid, start and boot together; it names one process for good. Callers remember a process by its ID, and
// signals go through [Signal], which refuses when the pid belongs to another process by now.
//
// What Linux tells in /proc, its handles on processes and the id of the boot are used in this package only. On macOS the same
// questions are answered by sysctl as well as that can; what it cannot tell is an error of kind errors.ErrUnsupported.
package proc

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"syscall"
	"time"
)

// An ID names one process of one boot of this machine. The zero ID names none. IDs can be compared with ==.
type ID struct {
	PID   int
	Start uint64 // Linux: clock ticks (100 a second) from boot to start; macOS: microseconds from 1970 to start
	Boot  string // see BootID
}

// ErrGone reports a process that does not run any more, or a pid that belongs to another one by now.
var ErrGone = errors.New("process is gone")

// Self returns the ID of this process. It is found once.
func Self() ID { return self() }

var self = sync.OnceValue(func() ID {
	id, err := Of(os.Getpid())
	if err != nil {
		return ID{PID: os.Getpid(), Boot: BootID()} // no /proc here: unknown start, still not another process's pid
	}
	return id
})

// Of returns the ID of the process that has the pid now. ErrGone: there is none, or it has ended and only waits for its parent
// to take notice.
func Of(pid int) (ID, error) {
	id, _, err := Named(pid)
	return id, err
}

// Named is Of with the short name of the process, for one look; see Comm.
func Named(pid int) (id ID, comm string, err error) {
	st, err := status(pid)
	if err != nil {
		return ID{}, "", err
	}
	if st.dead {
		return ID{}, "", fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return ID{pid, st.start, BootID()}, st.comm, nil
}

// Alive reports whether exactly this process still runs. One that is stopped or belongs to another user runs; one that has
// ended and waits for its parent does not.
func (id ID) Alive() bool {
	now, err := Of(id.PID)
	return err == nil && now == id
}

// String is for messages.
func (id ID) String() string { return fmt.Sprintf("process %d (start %d)", id.PID, id.Start) }

// StartTime returns when the process that has the pid now was started, by the wall clock of now, and whether there is one. It
// is exact to the tick (10 ms) as long as the clock is not set; to decide whether two looks saw one process compare IDs.
func StartTime(pid int) (time.Time, bool) {
	st, err := status(pid)
	if err != nil || st.dead {
		return time.Time{}, false
	}
	return wall(st.start), true
}

// BootID returns an identifier of this boot of the machine, the same for all its processes, "" when the system has none.
func BootID() string { return bootID() }

// Space names the numbering in which the pids that this process sees are unique, "" when the system tells none. Containers on one
// machine have one boot and each a numbering of its own: a pid of one says nothing in another.
func Space() string { return space() }

// Hostname returns the name of the machine, "" when it has none. It is asked anew each time, for machines are renamed.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// Parent returns the pid of the parent, 0 for the first process.
func Parent(pid int) (int, error) {
	st, err := status(pid)
	return st.parent, err
}

// Comm returns the short name of a process: on Linux at most 15 bytes, set by the program itself, of any content.
func Comm(pid int) (string, error) {
	st, err := status(pid)
	return st.comm, err
}

// Ancestors yields the parent of pid, its parent and so on up to the first process, each with its short name as [Comm] gives it. It ends
// early when one of them ends meanwhile.
func Ancestors(pid int) iter.Seq2[ID, string] {
	return func(yield func(ID, string) bool) {
		child, err := status(pid)
		for err == nil && child.parent > 0 {
			id := ID{PID: child.parent, Boot: BootID()}
			var st stat
			// A parent is older than its child; a younger one has got the pid of a parent that has just ended.
			if st, err = status(id.PID); err != nil || st.start > child.start {
				return
			}
			id.Start = st.start
			if !yield(id, st.comm) {
				return
			}
			child = st
		}
	}
}

// Signal sends sig to exactly this process. ErrGone: it has ended, and no process was signalled; signal 0 only asks. Where the
// system has handles on processes there is no moment in which the pid could change hands.
func Signal(id ID, sig syscall.Signal) error {
	if id.PID <= 0 { // to kill(2) these are groups, or everybody
		return fmt.Errorf("signal %v: %w", id, ErrGone)
	}
	err := signal(id, sig)
	if err == syscall.ESRCH {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal %v: %w", id, err)
	}
	return nil
}

// stat is what the system tells of a process in one go.
type stat struct {
	comm    string
	parent  int
	start   uint64 // as in ID
	dead    bool   // ended, not yet taken notice of by its parent
	group   int
	session int
	tty     int // as in Process
}

// Terminal returns the name of a terminal by the number of its device, as [Process] has it: "pts/3". It returns "" where there is none,
// or it is of another kind.
func Terminal(tty int) string { return terminal(tty) }
