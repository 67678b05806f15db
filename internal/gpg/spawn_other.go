//go:build !linux

package gpg

import (
	"os"
	"syscall"
)

// A child is a process that was started here.
type child struct{ process *os.Process }

// spawn starts a program; files are its descriptors from 0 on.
func spawn(path string, args, env []string, files []uintptr) (*child, error) {
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: env, Files: files})
	if err != nil {
		return nil, err
	}
	process, err := os.FindProcess(pid)
	return &child{process}, err
}

// kill ends the process, if it has not been waited for.
func (c *child) kill() { _ = c.process.Kill() }

// wait waits for the end and returns the exit status, -1 for one by a signal.
func (c *child) wait() (exit int, err error) {
	state, err := c.process.Wait()
	if err != nil {
		return -1, err
	}
	return state.ExitCode(), nil
}

// pipe makes a pipe that no other process gets.
func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var p [2]int
	if err = syscall.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	syscall.CloseOnExec(p[0])
	syscall.CloseOnExec(p[1])
	return p[0], p[1], nil
}
