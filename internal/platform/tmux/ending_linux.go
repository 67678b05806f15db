package tmux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canHold: the system has handles on processes.
const canHold = true

// ending returns a function that waits until the process has ended and reports that, or false when stop was called before.
func ending(pid int) (ended func() bool, stop func(), err error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, nil, err
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	raw, err := handle.SyscallConn()
	if err != nil {
		_ = handle.Close() // nothing was written to it
		return nil, nil, err
	}
	ended = func() bool {
		return raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return err == nil && n > 0
		}) == nil
	}
	return ended, func() { _ = handle.Close() }, nil
}

// withUs lets a program end when this one is killed. The system goes by the thread that started it, which lasts as long as this program
// or the caller's lock on it; should a waiter's end before, another waiter follows.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
