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
	stdin *feed  // nil: it has none
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

// A feed is the standard input of a process: it waits for what is to be said.
type feed struct {
	data <-chan []byte // takes one, or is closed: then nothing is said
	rest []byte
}

func (f *feed) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		data, more := <-f.data
		if !more || len(data) == 0 {
			return 0, io.EOF
		}
		f.rest = data
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// saying is a feed whose data is there.
func saying(data []byte) *feed {
	ch := make(chan []byte, 1)
	ch <- data
	close(ch)
	return &feed{data: ch}
}

// run calls gpg. The error is nil when the process ended by itself, with whatever exit status; an answer comes with every
// error after the start.
func (p Program) run(ctx context.Context, c call) (answer, error) {
	r, err := p.start(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return r.wait()
}

// A running is a process of gpg that has to be waited for.
type running struct {
	ctx  context.Context // what may end it
	end  func()          // ends it, if it has not
	cmd  *exec.Cmd
	out  *limited
	said *tail
	side pipes
}

// start starts gpg.
func (p Program) start(ctx context.Context, c call) (*running, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	limit := p.limit()
	slow := fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	ctx, giveUp := context.WithCancelCause(ctx)
	r := &running{ctx: ctx, end: func() { giveUp(nil); cancel() }, out: &limited{max: c.max, over: giveUp}, said: &tail{}}
	cmd := exec.CommandContext(ctx, path, append([]string{"--batch", "--no-tty", statusFD}, c.args...)...)
	cmd.Env = p.environ(c.plain)
	cmd.WaitDelay = grace
	if c.stdin != nil {
		cmd.Stdin = c.stdin
	}
	cmd.Stdout, cmd.Stderr = r.out, r.said
	r.cmd, r.side = cmd, pipes{status: &limited{max: maxStatus, over: giveUp}, done: make(chan error, 1)}
	if err = r.side.open(cmd, c.file); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.side.close()
		r.end()
		return nil, err
	}
	r.side.started(c.file)
	return r, nil
}

// wait takes what gpg has to say, until it ends.
func (r *running) wait() (answer, error) {
	defer r.end()
	defer r.side.close()
	err := r.cmd.Wait()
	status, statusErr := r.side.rest()
	a := answer{status: status, out: r.out.buf.Bytes(), said: r.said.last(), exit: r.cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case r.ctx.Err() != nil && (err != nil || r.out.full || r.side.status.full):
		return a, context.Cause(r.ctx)
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
