package gpg

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A child is a process that was started here. Package os would do the same, but before its first one it starts a process for nothing, to see
// which handles of processes the system knows: that is a tenth of the time of a signature.
type child struct {
	pid  int
	mu   sync.Mutex
	gone bool // it was waited for, and its number may be that of another one
}

// spawn starts a program; files are its descriptors from 0 on.
func spawn(path string, args, env []string, files []uintptr) (*child, error) {
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: env, Files: files})
	if err != nil {
		return nil, err
	}
	return &child{pid: pid}, nil
}

// kill ends the process, if it has not been waited for.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		_ = unix.Kill(c.pid, unix.SIGKILL) // it may have ended by itself
	}
}

// wait waits for the end and returns the exit status, -1 for one by a signal.
func (c *child) wait() (exit int, err error) {
	// The number stays the process's own until it is asked for its end a second time, under the lock.
	if err = retried(func() error { return unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) }); err != nil {
		return -1, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	var status unix.WaitStatus
	err = retried(func() error { _, err := unix.Wait4(c.pid, &status, 0, nil); return err })
	return status.ExitStatus(), err
}

// retried repeats a system call that a signal has interrupted.
func retried(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// pipe makes a pipe that no other process gets.
func pipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}
