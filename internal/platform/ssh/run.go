package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An Output is what a script printed.
type Output struct {
	Stdout []byte
	Stderr []byte // its end, at most 8 KiB; banners of the other side and words of ssh are in it, too
	Exit   int
}

// beginMark is printed before the script runs. What comes before it was printed by the start-up files of the login shell.
const beginMark = "tutti-begin"

// Run runs a script with sh on the other machine, in the home folder wherever the start-up files of the login shell went, and hands it the input. The script is fixed text of ours, of any
// length, in ASCII; whatever comes from people belongs into the input, which the script reads from its standard input. The
// error is an *Error, or wraps the cause of the context; output comes with every error after the start.
//
// The command line is the same for every script but for a number, and free of what any login shell (sh, csh, fish …) would
// take apart: sh reads so many bytes of its input as the script has, by dd because it takes them one by one and not one
// more, and runs them if they are all there. A connection that breaks in between must not run half of a script.
func (c *Client) Run(ctx context.Context, h Host, script string, in []byte) (Output, error) {
	if err := h.Check(); err != nil {
		return Output{}, fmt.Errorf("ssh %s: %w", h.Name, err)
	}
	script = strings.TrimRight(script, "\n") // as the shell does
	if i := strings.IndexFunc(script, func(r rune) bool { return r == 0 || r >= 0x80 }); i >= 0 || script == "" {
		return Output{}, fmt.Errorf("ssh %s: the script is empty or not plain ASCII (byte %d)", h.Name, i)
	}
	n := strconv.Itoa(len(script))
	remote := "exec sh -c 'cd; echo " + beginMark + "; s=$(dd bs=1 count=" + n + " 2>/dev/null) || exit 127; [ ${#s} = " + n +
		" ] || exit 125; eval \"$s\"'"
	input := make([]byte, 0, len(script)+len(in))
	input = append(append(input, script...), in...)
	out, err := c.ssh(ctx, h, c.limit(), remote, input)
	before, rest, begun := bytes.Cut(out.Stdout, []byte(beginMark+"\n"))
	if !begun {
		if err == nil {
			err = &Error{Op: "ssh", Host: h.Name, Kind: Remote, Last: "the login shell there did not run sh: " + lastLine(string(before))}
		}
		return out, err
	}
	out.Stdout = rest
	return out, err
}

// Probe connects and does nothing, within [ProbeLimit] unless the client has a limit of its own. It returns how long that took.
func (c *Client) Probe(ctx context.Context, h Host) (time.Duration, error) {
	if err := h.Check(); err != nil {
		return 0, fmt.Errorf("ssh %s: %w", h.Name, err)
	}
	limit := ProbeLimit
	if c.Limit > 0 {
		limit = c.Limit
	}
	start := time.Now()
	_, err := c.ssh(ctx, h, limit, "true", nil)
	return time.Since(start), err
}

func (c *Client) limit() time.Duration {
	if c.Limit > 0 {
		return c.Limit
	}
	return DefaultLimit
}

func (c *Client) ssh(ctx context.Context, h Host, limit time.Duration, remote string, in []byte) (Output, error) {
	path, err := find(c.SSH, "ssh")
	if err != nil {
		return Output{}, err
	}
	args := append(c.options(h), "--", h.target(), remote)
	return c.start(ctx, "ssh", h, limit, exec.Command(path, args...), in)
}

// A slowError is the end of a call that took too long.
type slowError time.Duration

func (e slowError) Error() string        { return "no answer within " + time.Duration(e).String() }
func (e slowError) Is(target error) bool { return target == context.DeadlineExceeded }

var errLarge = errors.New("it prints more than is taken from it")

// grace is how long the pipes of a process that has ended may stay open: a master connection that lives on (ControlPersist) could hold them.
const grace = time.Second

// start runs a process in a group of its own, so that its end is that of the ssh which rsync starts, too.
func (c *Client) start(ctx context.Context, op string, h Host, limit time.Duration, cmd *exec.Cmd, in []byte) (Output, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, slowError(limit))
	defer cancel()
	limited, giveUp := context.WithCancelCause(limited)
	defer giveUp(nil)
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	out, said := &bounded{max: maxOutput, over: giveUp}, &tail{}
	cmd.Env = append(env[:len(env):len(env)], "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = out, said
	if len(in) > 0 {
		cmd.Stdin = bytes.NewReader(in)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := limited.Err()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Output{}, c.failed(ctx, limited, &Error{Op: op, Host: h.Name, Exit: -1, Err: err, Typed: h.Typed()}, "")
	}
	err = wait(limited, cmd)
	result := Output{Stdout: out.buf.Bytes(), Stderr: said.buf, Exit: cmd.ProcessState.ExitCode()}
	if err == nil && !out.full {
		return result, nil
	}
	err = c.failed(ctx, limited, &Error{Op: op, Host: h.Name, Exit: result.Exit, Err: err, Typed: h.Typed()}, string(said.buf))
	if c.share != nil && Retryable(err) {
		c.share.drop(h)
	}
	return result, err
}

// wait waits for the end of the process, and ends its whole group when the context ends first.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		killGroup(cmd.Process.Pid)
	})
	cmd.WaitDelay = grace
	err := cmd.Wait()
	if !stop() {
		<-done
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; who holds the pipes is none of ours
	}
	return err
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// failed says what kind of failure it is.
func (c *Client) failed(ctx, limited context.Context, e *Error, said string) error {
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return fmt.Errorf("%s %s: %w", e.Op, e.Host, cause)
	case errors.Is(context.Cause(limited), errLarge):
		e.Exit, e.Err = -1, errLarge
		return e
	case limited.Err() != nil:
		e.Kind, e.Again, e.Exit, e.Err, e.Last = Timeout, true, -1, context.Cause(limited), lastLine(said)
		return e
	case e.Exit < 0:
		e.Last = lastLine(said)
		return e
	}
	e.classify(said)
	return e
}

// bounded takes so many bytes; with more the process is ended.
type bounded struct {
	buf  bytes.Buffer
	max  int
	full bool
	over func(error)
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.max-b.buf.Len() {
		b.full = true
		b.over(errLarge)
		return 0, errLarge
	}
	return b.buf.Write(p)
}

// A tail keeps the end of what is written.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-maxSaid):]
	if over := len(t.buf) + len(p) - maxSaid; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}
