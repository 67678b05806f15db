package wake

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sockets are made with the calls of the system: package net would be linked into every hook for this alone.

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// socket makes one that belongs to the poller of the runtime, so that deadlines and Close end what waits on it.
func socket() (int, error) {
	syscall.ForkLock.RLock() // no child is to be started before the mark is set
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, fmt.Errorf("make a socket: %w", err)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// listen makes the socket of a name in an open folder.
func listen(folder *os.File, name string) (*os.File, error) {
	fd, err := socket()
	if err != nil {
		return nil, err
	}
	path, err := pathIn(folder, name)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Fchmodat(int(folder.Fd()), name, 0o600, 0)
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s/%s: %w", folder.Name(), name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// accept waits for the next connection.
func accept(l *os.File) (*os.File, error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, failed := -1, error(nil)
	err = raw.Read(func(s uintptr) bool {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		fd, _, failed = unix.Accept(int(s))
		if failed == nil {
			unix.CloseOnExec(fd)
		}
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if err := ours(fd); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), l.Name()), nil
}

// dial goes to the socket of a name in an open folder.
func dial(folder *os.File, name string) (*os.File, error) {
	fd, err := socket()
	if err != nil {
		return nil, err
	}
	path, err := pathIn(folder, name)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}) // it takes no time: there is room in the queue, or it fails
	}
	if err == nil {
		err = ours(fd)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s/%s: %w", folder.Name(), name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// errForeign reports another user's process at the other end.
var errForeign = errors.New("the process at the other end belongs to another user")

// ours makes sure that a process of this user sits at the other end.
func ours(fd int) error {
	uid, err := peer(fd)
	switch {
	case err != nil:
		return fmt.Errorf("ask who is at the other end: %w", err)
	case uid != os.Geteuid():
		return errForeign
	}
	return nil
}

// maxLine bounds a line, in bytes: two ids, and a few words.
const maxLine = 4 << 10

var errLine = errors.New("the input is not a line")

// readLine reads one line without its end. It may read beyond it: nothing that matters follows.
func readLine(f *os.File) ([]byte, error) {
	var buf []byte
	for len(buf) < maxLine {
		part := make([]byte, 512)
		n, err := f.Read(part)
		for i, c := range part[:n] {
			if c == '\n' {
				return append(buf, part[:i]...), nil
			}
		}
		buf = append(buf, part[:n]...)
		if err != nil {
			return nil, err
		}
	}
	return nil, errLine
}

// writeLine writes a line; a peer that does not read it for a second counts as gone.
func writeLine(f *os.File, line []byte) error {
	if err := f.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err := f.Write(append(line, '\n'))
	return err
}
