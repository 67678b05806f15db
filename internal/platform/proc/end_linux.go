package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// end opens a handle on the process that has the pid and then asks which one that is, as signal does.
func end(id ID) (<-chan struct{}, func(), error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch err {
	case nil:
	case unix.ESRCH:
		return nil, nil, ErrGone
	default: // before Linux 5.10, or filtered
		return nil, nil, errors.Join(errors.ErrUnsupported, err)
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	stop := func() { _ = handle.Close() } // nothing was written to it
	if !id.Alive() {
		stop()
		return nil, nil, ErrGone
	}
	raw, err := handle.SyscallConn()
	if err != nil {
		stop()
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		if raw.Read(func(fd uintptr) bool { return readable(int(fd)) }) == nil {
			close(ended)
		}
	}()
	return ended, stop, nil
}

// readable tells whether the process behind a handle has ended.
func readable(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
