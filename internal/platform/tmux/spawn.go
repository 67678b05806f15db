package tmux

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A spawn is one run of tmux. One thread does it and waits for all pipes at once: package os/exec takes a goroutine and a registration
// with the poller for each, and what tmux does for us is over in two milliseconds.
type spawn struct {
	path     string
	args     []string // the first is the name of the program
	env      []string
	dir      string // "": where this process is
	in       string // standard input
	out, err *limited

	// Of one that was started ahead of its input:
	ours *ends
	c    *child
}

// linger is how long after the end of the context the pipes are waited for: a killed client leaves nobody who could hold them. In case it
// does, they are left.
const linger = time.Second

// An exitError says how a program ended that did not succeed.
type exitError syscall.WaitStatus

func (e exitError) Error() string {
	if s := syscall.WaitStatus(e); s.Signaled() {
		return "signal: " + s.Signal().String()
	}
	return "exit status " + strconv.Itoa(syscall.WaitStatus(e).ExitStatus())
}

// run runs the program to its end. When the context ends, the program is killed.
func (s *spawn) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil && s.c == nil {
		return err
	}
	ours, c := s.ours, s.c
	if c == nil {
		var err error
		if ours, c, err = s.start(s.in != ""); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	_, err := s.pump(ctx, ours, c.pid, nil, false)
	if err != nil {
		c.kill() // nobody reads what it says
	}
	if e := c.wait(); err == nil {
		err = e
	}
	return err
}

// A child is the process of a run.
type child struct {
	pid  int
	mu   sync.Mutex
	gone bool // it was waited for, and its pid may be anybody's
}

// kill kills the process while the pid is its own.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		_ = syscall.Kill(c.pid, syscall.SIGKILL) // who has ended needs none
	}
}

// wait waits for the end. The pid is given back with the lock held.
func (c *child) wait() error {
	for awaitEnd(c.pid); ; time.Sleep(time.Millisecond) {
		var status syscall.WaitStatus
		c.mu.Lock()
		pid, err := syscall.Wait4(c.pid, &status, syscall.WNOHANG, nil)
		c.gone = pid == c.pid || err != nil && !errors.Is(err, syscall.EINTR)
		gone := c.gone
		c.mu.Unlock()
		switch {
		case !gone:
		case err != nil:
			return os.NewSyscallError("wait", err)
		case status.Exited() && status.ExitStatus() == 0:
			return nil
		default:
			return exitError(status)
		}
	}
}

// ends are our ends of the pipes for standard input, output and error; -1 for one that is closed.
type ends [3]int

func (e *ends) close(i int) {
	if e[i] >= 0 {
		_ = unix.Close(e[i]) // what was written is written, and what was read is read
		e[i] = -1
	}
}

// start makes the pipes and the process. It does not use package os, which begins by starting a process of its own, to see which handles
// on processes the system has.
func (s *spawn) start(input bool) (ours *ends, c *child, err error) {
	ours, c = &ends{-1, -1, -1}, &child{}
	theirs := ends{-1, -1, -1}
	for i := range theirs {
		if i == 0 && !input {
			theirs[0], err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		} else {
			ours[i], theirs[i], err = pipe(i == 0)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		c.pid, err = syscall.ForkExec(s.path, s.args, &syscall.ProcAttr{
			Dir: s.dir, Env: s.env, Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])},
		})
	}
	for i := range theirs {
		theirs.close(i) // the process has its own
		if err != nil {
			ours.close(i)
		}
	}
	if err != nil {
		err = &fs.PathError{Op: "start", Path: s.path, Err: err}
	}
	return ours, c, err
}

// pipe makes a pipe. Our end does not block.
func pipe(write bool) (ours, theirs int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock() // nobody else's program gets them
	err = unix.Pipe(fds[:])
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, -1, err
	}
	if write {
		fds[0], fds[1] = fds[1], fds[0]
	}
	return fds[0], fds[1], unix.SetNonblock(fds[0], true)
}

// pump writes what the program is to read, and reads what it writes, until it has closed its ends or has ended, as far as the system
// tells that: a program that was started in the same moment, or a server that is being born, may hold them for longer and has nothing to say.
// With a mark it stops when the program has written that, and what is open stays so; with hold nothing is written before.
func (s *spawn) pump(ctx context.Context, ours *ends, pid int, mark []byte, hold bool) (marked bool, err error) {
	handle := endHandle(pid)
	defer func() {
		for i := range ours {
			if !marked {
				ours.close(i)
			}
		}
		if handle >= 0 {
			_ = unix.Close(handle) // nothing was written to it
		}
	}()
	in, buf, ended := s.in, make([]byte, 16<<10), false
	if in == "" && !hold {
		ours.close(0)
	}
	for ours[1] >= 0 || ours[2] >= 0 {
		fds := [4]unix.PollFd{
			{Fd: int32(ours[0]), Events: unix.POLLOUT},
			{Fd: int32(ours[1]), Events: unix.POLLIN},
			{Fd: int32(ours[2]), Events: unix.POLLIN},
			{Fd: int32(handle), Events: unix.POLLIN},
		}
		if hold {
			fds[0].Fd = -1
		}
		wait := patience(ctx)
		if ended { // what it has written is there
			fds[0].Fd, fds[3].Fd, wait = -1, -1, 0
		}
		n, err := unix.Poll(fds[:], wait)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, os.NewSyscallError("poll", err)
		case n == 0 && ended:
			return false, nil
		case n == 0:
			return false, context.Cause(ctx)
		}
		ended = ended || fds[3].Revents != 0
		if fds[0].Revents != 0 {
			if n, err := unix.Write(ours[0], []byte(in[:min(len(in), 64<<10)])); err == nil {
				in = in[n:]
			} else if !again(err) {
				in = "" // it reads no more, which is its own affair
			}
			if in == "" {
				ours.close(0)
			}
		}
		for i, to := range [...]*limited{nil, s.out, s.err} {
			if fds[i].Revents == 0 || to == nil {
				continue
			}
			n, err := unix.Read(ours[i], buf)
			switch {
			case n > 0:
				if _, err := to.Write(buf[:n]); err != nil {
					return false, err
				}
			case err == nil || !again(err):
				ours.close(i)
			}
		}
		if mark != nil && bytes.Contains(s.out.buf.Bytes(), mark) {
			return true, nil
		}
	}
	return false, nil
}

func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// patience is how long to wait for a pipe at most, in milliseconds: until the context must have ended, and a little longer. It is asked
// for anew each time, for the context may end before.
func patience(ctx context.Context) int {
	until, ok := ctx.Deadline()
	if !ok {
		return -1
	}
	return int(max(0, time.Until(until)+linger) / time.Millisecond)
}
