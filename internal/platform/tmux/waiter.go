package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// signal is the channel of tmux on which its hooks give a signal. A signal that is given while no one waits is kept for the
// next.
const signal = "tutti-watch"

// hooked are the hooks that give a signal, under a number of ours: [0] and on are the user's. A server forgets them when the user's
// settings are read again, so they are set anew with each wait.
var hooked = []string{"session-created", "session-closed", "session-renamed", "pane-died", "pane-exited"}

const ourHook = "[7411]"

// What a waiter prints: a line for each pane, and one when it begins to wait.
const (
	paneLine = "pane "
	waitLine = "waiting "
	dead     = "dead" // before what a program ended with, where there would be its pid
)

// seen is what a waiter has seen of a pane.
type seen struct {
	pid  int    // of its first program, when that has not ended
	dead string // else: dead, then what it ended with
	name string // of its session
}

// A waiter is one program tmux that has looked at the server and now waits for a signal.
type waiter struct {
	seen     map[string]seen // panes by session and pane id
	failures []time.Time     // when this one and those before it ended without a signal
	over     chan struct{}   // closed when it has ended
	err      error           // when over: nil after a signal, and when the server ended in order
	said     *limited        // when over
	end      context.CancelFunc
}

// wait starts a waiter, and returns when it waits: the look comes in the same step, so that nothing falls between.
func (w *Watcher) wait() (*waiter, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = ErrMissing
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(w.ctx)
	v := &waiter{over: make(chan struct{}), end: func() { cancel(context.Canceled) }, said: &limited{max: maxErrors, drop: true}}
	cmd := exec.CommandContext(ctx, program, append(w.s.at(), waitCommands()...)...)
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.WaitDelay = environ(), "/", v.said, linger
	cmd.SysProcAttr = withUs()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(err)
		return nil, err
	}
	slow := time.AfterFunc(Limit, func() { cancel(errSlow) })
	// The end of the client does not end its output: a server that hangs has a copy of it on the way.
	deaf := context.AfterFunc(ctx, func() { _ = out.Close() })
	lines := bufio.NewReader(out)
	who, err := v.look(lines)
	if slow.Stop(); !deaf() {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = w.recognise(who)
	}
	if err != nil {
		return nil, w.failed(ctx, v, cmd, cancel, err)
	}
	go func() {
		v.err = cmd.Wait()
		if errors.Is(v.err, exec.ErrWaitDelay) {
			v.err = nil
		}
		cancel(context.Canceled)
		close(v.over)
	}()
	return v, nil
}

// failed ends a waiter that does not wait, and returns why.
func (w *Watcher) failed(ctx context.Context, v *waiter, cmd *exec.Cmd, cancel context.CancelCauseFunc, err error) error {
	cause := context.Cause(ctx)
	if !errors.Is(err, io.EOF) {
		cancel(err)
	}
	if ended := cmd.Wait(); errors.Is(err, io.EOF) && ended != nil {
		err = ended
	}
	cancel(err)
	text := strings.TrimRight(v.said.buf.String(), "\n")
	switch {
	case cause != nil:
		err = cause
	case saysAbsent(text):
		err = ErrAbsent
	}
	if errors.Is(err, errOther) {
		return err
	}
	return &CommandError{Command: "wait-for", Server: w.s.String(), Said: text, Err: err}
}

func waitCommands() []string {
	var args []string
	for _, h := range hooked {
		args = append(args, "set-hook", "-g", h+ourHook, "wait-for -S "+signal, ";")
	}
	return append(args,
		"list-panes", "-a", "-F", paneLine+"#{session_id}#{pane_id} #{?pane_dead,"+dead+"#{pane_dead_status}#{pane_dead_signal},#{pane_pid}} #{session_name}", ";",
		"display-message", "-p", waitLine+"#{pid} #{start_time}", ";",
		"wait-for", signal)
}

// look reads what the waiter prints, up to the line by which it waits.
func (v *waiter) look(lines *bufio.Reader) (who string, err error) {
	v.seen = map[string]seen{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, waitLine); ok {
			return rest, nil
		}
		id, rest, _ := strings.Cut(strings.TrimPrefix(line, paneLine), " ")
		state, name, ok := strings.Cut(rest, " ")
		if !ok || !strings.HasPrefix(line, paneLine) {
			return "", fmt.Errorf("%.200q: %w", line, errRow)
		}
		one := seen{name: name}
		if strings.HasPrefix(state, dead) {
			one.dead = state
		} else if one.pid, err = strconv.Atoi(state); err != nil {
			return "", fmt.Errorf("%.200q: %w", line, errRow)
		}
		v.seen[id] = one
	}
}

var errOther = fmt.Errorf("%w: another server is there", ErrAbsent)

// recognise compares the server with the one that is watched.
func (w *Watcher) recognise(who string) error {
	first, second, _ := strings.Cut(who, " ")
	pid, err := strconv.Atoi(first)
	started, err2 := strconv.ParseInt(second, 10, 64)
	if err := errors.Join(err, err2); err != nil || pid <= 1 {
		return fmt.Errorf("%.200q: %w", who, errRow)
	}
	if w.pid == 0 && (w.s.pid == 0 || w.s.pid == pid) {
		w.pid, w.started = pid, started
	}
	if w.pid != pid || w.started != started {
		return errOther
	}
	return nil
}

// crash tells how the server of a waiter that is over has ended: in order it lets its clients go first.
func (v *waiter) crash() error {
	if v.err != nil {
		return ErrCrashed
	}
	return nil
}
