package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A call is one process of gpg. Its status lines come through descriptor 3.
type call struct {
	op    string
	args  []string
	stdin []byte
	file  []byte // what the process reads from descriptor 4; nil: it has none
	max   int    // bytes that its standard output may have
	plain bool   // speak English
}

// statusFD and fileFD are the arguments that name these two: the first descriptors behind the standard ones.
const (
	statusFD = "--status-fd=3"
	fileFD   = "-&4" // a file name that --enable-special-filenames makes a descriptor
)

// An answer is what came of a call that ran to its end.
type answer struct {
	status, out []byte
	said        string // last line on standard error
	exit        int
}

var (
	errLarge = errors.New("gpg prints more than is taken from it")
	errGrace = errors.New("gpg has ended, but something holds its pipes open")
)

// grace is how long the pipes of a process that has ended may stay open: only a child that it left behind could hold them.
const grace = time.Second

// run calls gpg. The error is nil when the process ended by itself, with whatever exit status; an answer comes with every
// error after the start.
func (p Program) run(ctx context.Context, c call) (answer, error) {
	path, err := p.path()
	if err != nil {
		return answer{}, err
	}
	limit := p.limit()
	slow := fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	cmd := exec.CommandContext(ctx, path, append([]string{"--batch", "--no-tty", statusFD}, c.args...)...)
	cmd.Env = p.environ(c.plain)
	cmd.WaitDelay = grace
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	out, said := &limited{max: c.max, over: giveUp}, &tail{}
	cmd.Stdout, cmd.Stderr = out, said

	side := pipes{status: &limited{max: maxStatus, over: giveUp}, done: make(chan error, 1)}
	defer side.close()
	if err := side.open(cmd, c.file); err != nil {
		return answer{}, err
	}
	if err := cmd.Start(); err != nil {
		return answer{}, err
	}
	side.started(c.file)
	err = cmd.Wait()
	status, statusErr := side.rest()
	a := answer{status: status, out: out.buf.Bytes(), said: said.last(), exit: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && (err != nil || out.full || side.status.full):
		return a, context.Cause(ctx)
	case errors.As(err, &exit) && exit.Exited():
		err = nil // judged by the caller
	}
	return a, errors.Join(err, statusErr)
}

// pipes are the two that exec does not know: status lines out of the process, the signature into it.
type pipes struct {
	ours, theirs []*os.File
	status       *limited
	done         chan error
}

func (s *pipes) open(cmd *exec.Cmd, file []byte) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.ours, s.theirs = append(s.ours, r), append(s.theirs, w)
	if file != nil {
		r, w, err = os.Pipe()
		if err != nil {
			return err
		}
		s.ours, s.theirs = append(s.ours, w), append(s.theirs, r)
	}
	cmd.ExtraFiles = s.theirs
	return nil
}

// started begins to read and to write, once the process has its ends.
func (s *pipes) started(file []byte) {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
	if file != nil {
		go func(w *os.File) { // the pipe may have less room than the file
			_, _ = w.Write(file) // a process that does not read it says so itself
			w.Close()
		}(s.ours[1])
	}
	go func(r *os.File) {
		_, err := io.Copy(s.status, r)
		s.done <- err
	}(s.ours[0])
}

// rest waits for the end of the status lines, after that of the process.
func (s *pipes) rest() ([]byte, error) {
	_ = s.ours[0].SetReadDeadline(time.Now().Add(grace)) // a pipe always has deadlines
	err := <-s.done
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errGrace
	}
	return s.status.buf.Bytes(), err
}

func (s *pipes) close() {
	for _, f := range append(s.ours, s.theirs...) {
		f.Close() // the writer's may be closed already
	}
}

// limited takes so many bytes; with more the process is ended.
type limited struct {
	buf  bytes.Buffer
	max  int
	full bool
	over func(error)
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.max-l.buf.Len() {
		l.full = true
		l.over(errLarge)
		return 0, errLarge
	}
	return l.buf.Write(p)
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
