package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	maxOutput = 16 << 20 // of one call: a screen with 50,000 lines of history stays below it
	maxErrors = 4 << 10  // of what tmux says on its standard error
)

// A CommandError is what tmux said when a call failed. It wraps ErrAbsent where tmux says that there is nothing.
type CommandError struct {
	Command string // the first command of the call: "list-panes"
	Server  string
	Said    string // the standard error of tmux, without the final line feed
	Err     error
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("tmux %s on server %s: %v", e.Command, e.Server, e.Err)
	if e.Said != "" {
		text += fmt.Sprintf(" (tmux says %q)", e.Said)
	}
	return text
}

func (e *CommandError) Unwrap() error { return e.Err }

var (
	errSlow  = fmt.Errorf("no answer within %s: %w", Limit, context.DeadlineExceeded)
	errLarge = errors.New("tmux prints more than is taken from it")
)

// run calls tmux with the arguments, one command or several with ";" between them, and returns what it prints.
func (s Server) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	out, err := s.call(ctx, &exec.Cmd{Args: s.at(), Env: environ(), Stdin: stdin}, args)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// call runs tmux as the given command says; its arguments so far are those that say which server. What was printed comes with an
// error, too.
func (s Server) call(ctx context.Context, how *exec.Cmd, args []string) ([]byte, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = ErrMissing
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, errSlow)
	defer cancel()
	out, said := &limited{max: maxOutput}, &limited{max: maxErrors, drop: true}
	cmd := exec.CommandContext(ctx, program, append(how.Args, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = how.Env, how.Dir, how.Stdin, out, said, linger
	cmd.Cancel = func() error {
		cmd.WaitDelay = time.Millisecond // a server that hangs holds the pipes of a client that was killed, and whatever still comes is too late
		return cmd.Process.Kill()
	}
	// A client that outlives us could make a session when another process has already found that there is none.
	cmd.SysProcAttr = withUs()
	runtime.LockOSThread()
	err = cmd.Run()
	runtime.UnlockOSThread()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // what it has written is there
		return out.buf.Bytes(), nil
	}
	if out.full {
		err = errLarge // an output that was cut off is not a reason
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	text := strings.TrimRight(said.buf.String(), "\n")
	if saysAbsent(text) {
		err = ErrAbsent
	}
	return out.buf.Bytes(), &CommandError{Command: args[0], Server: s.String(), Said: text, Err: err}
}

// linger is how long the pipes of a client that has ended are waited for. What it has written is read long before; a program that was
// started in the same moment, or a server that is being born, may hold them for longer and has nothing to say.
const linger = Limit

// How long a server may take to end once it has begun to, and tells new clients that it "exited unexpectedly": some
// milliseconds, on a machine that does much else a hundred times that, because its clients have to go first.
const (
	endLimit  = 3 * time.Second
	bornLimit = time.Second           // for callers that want a new one: the server that ends again and again may be that one, and the program in it with it
	endPause  = 10 * time.Millisecond // before it is asked again; each time twice as long, up to maxPause
	maxPause  = 100 * time.Millisecond
)

// whileEnding asks anew as long as the server is just ending, to learn what follows.
func whileEnding(ctx context.Context, limit time.Duration, ask func() error) error {
	err := ask()
	for pause, end := endPause, time.Now().Add(limit); exited(err) && time.Now().Before(end); pause = min(2*pause, maxPause) {
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
		err = ask()
	}
	return err
}

// exited tells whether the server ended while it was asked.
func exited(err error) bool {
	var said *CommandError
	return errors.As(err, &said) && strings.Contains(said.Said, "server exited")
}

// sleep waits, and tells whether the context let it.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// environ is our environment without what would tell tmux that we live in a pane: the target is always given.
func environ() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TMUX=") && !strings.HasPrefix(v, "TMUX_PANE=") {
			env = append(env, v)
		}
	}
	return env
}

// saysAbsent reports whether tmux says that there is no such server, session, window or pane. A server that went away while it
// was being asked ("server exited unexpectedly") and a socket that may not be opened are not absent: what became of the programs is
// not known then.
func saysAbsent(said string) bool {
	switch {
	case strings.HasPrefix(said, "no server running on "), said == "no current target", said == "no sessions": // a server that has nothing is about to end
		return true
	case strings.HasPrefix(said, "error connecting to "):
		return strings.HasSuffix(said, "(No such file or directory)") || strings.HasSuffix(said, "(Connection refused)")
	}
	return strings.HasPrefix(said, "can't find pane") || strings.HasPrefix(said, "can't find window") ||
		strings.HasPrefix(said, "can't find session")
}

// limited takes so many bytes; more are an error, or dropped.
type limited struct {
	buf  bytes.Buffer
	max  int
	drop bool
	full bool // more came
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.max - l.buf.Len()
	if len(p) <= room {
		return l.buf.Write(p)
	}
	l.full = true
	if !l.drop {
		return 0, errLarge
	}
	l.buf.Write(p[:room])
	return len(p), nil
}
