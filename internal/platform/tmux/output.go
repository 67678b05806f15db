package tmux

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An output takes what a program prints until the program has ended. Somebody else may hold the other end for longer, a program that was
// started in the same moment or a server that is just being born; who waits for them waits for nothing.
type output struct {
	limited
	read, write *os.File
	over        chan struct{} // closed when nobody reads
}

// newOutput makes the two ends. Whoever has made it calls begin or abandon.
func newOutput(limit limited) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &output{limited: limit, read: r, write: w, over: make(chan struct{})}, nil
}

// abandon gives it up before anybody has read.
func (o *output) abandon() {
	_ = o.write.Close()
	_ = o.read.Close()
}

// begin reads on: the program runs and has its end.
func (o *output) begin() {
	_ = o.write.Close()
	go func() {
		defer close(o.over)
		if _, err := io.Copy(&o.limited, o.read); errors.Is(err, errLarge) {
			_ = o.read.Close() // the program shall not wait for somebody who takes no more
		}
	}()
}

// end takes what is left, when the program has ended: all that it has printed is on the way.
func (o *output) end() {
	defer o.read.Close()
	if o.read.SetReadDeadline(time.Unix(1, 0)) != nil { // it was too much
		_ = o.read.Close()
	}
	<-o.over
	raw, err := o.read.SyscallConn()
	if err != nil || o.read.SetReadDeadline(time.Time{}) != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		var buf [4096]byte
		for {
			n, err := unix.Read(int(fd), buf[:])
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return true // the end, or whoever holds the other end says nothing
			}
			if _, err := o.limited.Write(buf[:n]); err != nil {
				return true
			}
		}
	})
}
