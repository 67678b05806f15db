package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/agents/driver"
)

// InputTime is how long the input of a hook is waited for. Programs write it at once; one that does not must not be kept waiting.
const InputTime = 5 * time.Second

// ErrNoInput reports an input that does not come to an end in time, or that a person would have to type.
var ErrNoInput = errors.New("the input did not come")

// ReadInput reads what a program writes to its hook. Of what is too large the rest is read and thrown away, so that the program
// is not stopped in the middle of writing.
func ReadInput(f *os.File, limit time.Duration) ([]byte, error) {
	fd := int(f.Fd())
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err == nil {
		return nil, fmt.Errorf("%w: standard input is a terminal", ErrNoInput)
	}
	end := time.Now().Add(limit)
	data := make([]byte, 0, 4<<10)
	size := 0
	for {
		if err := wait(fd, end); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):cap(data)])
		size += n
		if size <= driver.MaxHook {
			data = data[:len(data)+n]
		}
		switch {
		case err == nil || errors.Is(err, unix.EAGAIN):
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read the input: %w", err)
		case size > driver.MaxHook:
			return nil, fmt.Errorf("%w: %d bytes", driver.ErrInput, size)
		default:
			return data, nil
		}
	}
}

// wait returns when there is something to read, or the end of it.
func wait(fd int, end time.Time) error {
	for {
		left := time.Until(end)
		if left <= 0 {
			return ErrNoInput
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left/time.Millisecond)+1)
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for the input: %w", err)
		}
	}
}
