package tmux

import (
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unreaped reports a dead pane of which the server does not know how its program ended.
func (p Pane) unreaped() bool { return p.Dead && p.Status < 0 && p.Signal == 0 }

// nudge makes a server look which of its children have ended. Servers of the version 3.3a that are built with utempter miss about
// every tenth end: while a helper notes that a terminal is free, the signal that tells of the end goes nowhere. To a process
// that does not expect this signal it means nothing, so a pid that has changed hands does no harm.
func nudge(server int) {
	if server > 1 {
		_ = syscall.Kill(server, syscall.SIGCHLD) // a server that is gone needs none
	}
}

// status reads what a program ended with: a number, or nothing.
func (r *row) status() int {
	f := r.next()
	if f == "" {
		return -1
	}
	n, err := strconv.Atoi(f)
	r.bad = r.bad || err != nil || n < 0
	return n
}

// signal reads a signal: a number, a name with or without SIG where the system has names, or nothing.
func (r *row) signal() int {
	f := r.next()
	if f == "" {
		return 0
	}
	if n, err := strconv.Atoi(f); err == nil {
		r.bad = r.bad || n < 0
		return n
	}
	name := strings.TrimPrefix(strings.ToUpper(f), "SIG")
	return int(unix.SignalNum("SIG" + name)) // 0 for an unknown name
}

// moment reads a time that may be missing.
func (r *row) moment() time.Time {
	f := r.next()
	if f == "" || f == "0" {
		return time.Time{}
	}
	n, err := strconv.ParseInt(f, 10, 64)
	r.bad = r.bad || err != nil
	return time.Unix(n, 0)
}
