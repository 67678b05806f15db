package gpg

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// An intake is the end of a pipe that a process reads.
type intake struct {
	mu   sync.Mutex
	fd   int      // -1: it is closed, or rest has it
	rest *os.File // while there is more to be said than the pipe has room for
}

// say writes data and closes the pipe. What there is no room for is written while the process reads; one that does not read says so itself.
func (p *intake) say(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(data) > 0 && p.fd >= 0 {
		n, err := syscall.Write(p.fd, data)
		if n > 0 {
			data = data[n:]
		}
		switch {
		case errors.Is(err, syscall.EAGAIN):
			p.rest, p.fd = os.NewFile(uintptr(p.fd), "pipe"), -1
			go func(w *os.File) {
				_, _ = w.Write(data)
				w.Close()
			}(p.rest)
			return
		case err != nil && !errors.Is(err, syscall.EINTR):
			data = nil
		}
	}
	p.drop()
}

// close closes the pipe, also for what is still being said.
func (p *intake) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *intake) drop() {
	if p.fd >= 0 {
		syscall.Close(p.fd)
		p.fd = -1
	}
	if p.rest != nil {
		p.rest.Close() // it may be closed already
	}
}

// pipes are those of one process. Our ends do not block, theirs do.
type pipes struct {
	theirs []uintptr // descriptors of the process from 0 on
	in     []*intake
	out    []*os.File

	open    atomic.Int32  // outputs that have not ended
	drained chan struct{} // closed when all have
	fault   atomic.Pointer[error]
}

// reads gives the process something to read.
func (s *pipes) reads() (*intake, error) {
	r, w, err := pipe()
	if err != nil {
		return nil, err
	}
	s.theirs = append(s.theirs, uintptr(r))
	p := &intake{fd: w}
	s.in = append(s.in, p)
	return p, syscall.SetNonblock(w, true)
}

// writes gives the process something to write to.
func (s *pipes) writes() error {
	r, w, err := pipe()
	if err != nil {
		return err
	}
	s.theirs = append(s.theirs, uintptr(w))
	err = syscall.SetNonblock(r, true)
	s.out = append(s.out, os.NewFile(uintptr(r), "pipe"))
	return err
}

// given closes the ends of the process, when it has them or when there is none.
func (s *pipes) given() {
	for _, fd := range s.theirs {
		syscall.Close(int(fd))
	}
	s.theirs = nil
}

// drain begins to take what the process writes: the first output goes to the first of them, and so on.
func (s *pipes) drain(to ...io.Writer) {
	s.open.Store(int32(len(s.out)))
	for i, r := range s.out {
		go func() {
			if err := take(r, to[i]); err != nil {
				s.fault.CompareAndSwap(nil, &err)
			}
			if s.open.Add(-1) == 0 {
				close(s.drained)
			}
		}()
	}
}

// take is io.Copy for the few lines that gpg prints.
func take(r *os.File, w io.Writer) error {
	buf := make([]byte, 2<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// close closes our ends.
func (s *pipes) close() {
	for _, p := range s.in {
		p.close()
	}
	for _, f := range s.out {
		f.Close()
	}
}

// limited takes so many bytes; with more the process is ended.
type limited struct {
	buf  bytes.Buffer
	max  int
	full bool
	over func(error)

	// At end, which is the last thing that the process has to say if all goes well, what was said so far is given to whole. It has room
	// for one.
	end   []byte
	whole chan []byte
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.max-l.buf.Len() {
		l.full = true
		l.over(errLarge)
		return 0, errLarge
	}
	l.buf.Write(p)
	if l.whole != nil && bytes.HasSuffix(l.buf.Bytes(), l.end) {
		l.whole <- bytes.Clone(l.buf.Bytes())
		l.whole = nil
	}
	return len(p), nil
}

// A tail keeps the end of what is written.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > maxSaid {
		p = p[n-maxSaid:]
	}
	if over := len(t.buf) + len(p) - maxSaid; over > 0 {
		t.buf = t.buf[over:]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// last returns the last line that is not empty.
func (t *tail) last() string {
	text := strings.TrimSpace(string(t.buf))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return strings.TrimPrefix(strings.TrimSpace(text), "gpg: ")
}

var errGrace = errors.New("gpg has ended, but something holds its pipes open")
