package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// An answer is the result of a call that ran to its end.
type answer struct {
	status, out []byte
	said        string // last line on standard error
	exit        int
}

var (
	errLarge  = errors.New("gpg prints more than is taken from it")
	errKilled = errors.New("gpg was ended by a signal")
	errGrace  = errors.New("gpg has ended, but something holds its pipes open")
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
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	out, status, said := &limited{max: c.max, over: giveUp}, &limited{max: maxStatus, over: giveUp}, &tail{}
	cmd := exec.CommandContext(ctx, path, append([]string{"--batch", "--no-tty", statusFD}, c.args...)...)
	cmd.Env, cmd.WaitDelay = p.environ(c.plain), grace
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.stdin), out, said
	more, err := connect(cmd, c.file, status)
	if err == nil {
		err = cmd.Start()
	}
	more.given()
	if err != nil {
		_ = more.end() // the error of the start counts
		return answer{}, &os.PathError{Op: "start", Path: path, Err: err}
	}
	err = errors.Join(plainly(cmd.Wait()), more.end())
	a := answer{status: status.buf.Bytes(), out: out.buf.Bytes(), said: said.last(), exit: cmd.ProcessState.ExitCode()}
	switch {
	case ctx.Err() != nil && (err != nil || a.exit != 0 || out.full || status.full):
		return a, context.Cause(ctx)
	case a.exit < 0 && err == nil:
		err = errKilled
	}
	return a, err
}

// plainly is nil for a process that has ended by itself: how, its exit status tells.
func plainly(err error) error {
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return nil
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return errGrace
	}
	return err
}

// extra are the pipes behind the standard ones.
type extra struct {
	theirs, ours []*os.File
	done         chan struct{} // closed when the status has ended
}

// connect gives the process a descriptor for its status, and one from which it reads file.
func connect(cmd *exec.Cmd, file []byte, status *limited) (*extra, error) {
	x := &extra{done: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		close(x.done)
		return x, err
	}
	x.theirs, x.ours = append(x.theirs, w), append(x.ours, r)
	go func() {
		defer close(x.done)
		_, _ = r.WriteTo(status) // a status that is cut off is not valid
	}()
	if file != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return x, err
		}
		x.theirs, x.ours = append(x.theirs, r), append(x.ours, w)
		go func() {
			_, _ = w.Write(file) // a process that does not read it says so itself
			w.Close()
		}()
	}
	cmd.ExtraFiles = x.theirs
	return x, nil
}

// given closes the ends of the process, when it has them or when there is none.
func (x *extra) given() {
	for _, f := range x.theirs {
		f.Close()
	}
}

// end takes the rest of the status of a process that has ended, and closes our ends.
func (x *extra) end() (err error) {
	held := time.NewTimer(grace)
	defer held.Stop()
	select {
	case <-x.done:
	case <-held.C:
		err = errGrace
	}
	for _, f := range x.ours {
		f.Close()
	}
	<-x.done
	return err
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
