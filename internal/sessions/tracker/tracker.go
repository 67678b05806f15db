// Package tracker asks the external program that keeps track of work what goes on in a workspace.
//
// The program is found on PATH, run without a shell, given a limited time, and only so much of what it writes is read. When its time is
// over, or it has answered, it is ended together with what it has started: its group, and all who carry the mark that stands in its
// environment, whatever group, session or parent they have by then. Only a descendant that has left the group and has cleaned its
// environment escapes. To have orphans passed to this process instead (PR_SET_CHILD_SUBREAPER) would take those of every program that it
// starts, such as the agent of gpg, and they do not say whose they were. What the program says is not judged here.
package tracker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tutti/internal/platform/proc"
)

const (
	// Name is how the program is called.
	Name = "track"
	// Limit is how long its answer is waited for: it is asked by a server that has to answer itself.
	Limit = 10 * time.Second
	// linger is how long the output is waited for when the program has ended and another process still holds it.
	linger = 500 * time.Millisecond
	// mark is the variable by which what the program starts is known again; its value is another one each time.
	mark = "TUTTI_TRACK"
	// ending is how long the end of those is waited for: a killed process ends in an instant, and one that starts others
	// without end does not make us wait.
	ending = 2 * time.Second
	// MaxAnswer is the longest answer that is taken, in bytes.
	MaxAnswer = 1 << 20
)

// ErrLong reports an answer above MaxAnswer.
var ErrLong = errors.New("the answer is too long")

// A Program is where it lies, and how long it may take. The zero one is the one on PATH, and Limit.
type Program struct {
	Path  string
	Limit time.Duration
}

// Activity asks what goes on in a workspace. idle is the age in milliseconds, as it is written, from which on work counts as stalled.
func (p Program) Activity(ctx context.Context, workspace, idle string) ([]byte, error) {
	path := p.Path
	if path == "" {
		found, err := exec.LookPath(Name)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", Name, err)
		}
		path = found
	}
	limit := p.Limit
	if limit <= 0 {
		limit = Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &bounded{left: MaxAnswer, full: cancel}
	cmd := exec.CommandContext(ctx, path, "workspace-activity", "--workspace", workspace, "--idle-ms", idle, "--format", "json")
	run := rand.Text()
	cmd.Env = append(os.Environ(), mark+"="+run)
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = linger // one of its own may hold the pipe
	err := cmd.Run()
	if cmd.Process != nil {
		end(run)
	}
	switch {
	case out.over:
		return nil, fmt.Errorf("ask %s: %w", path, ErrLong)
	case errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // it has ended well, and answered
		_ = cmd.Cancel()
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("ask %s: %w", path, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	return out.text.Bytes(), nil
}

// end ends all who carry a mark. One who starts another one meanwhile hands it the mark, and that one is found in the next round.
func end(run string) {
	ctx, cancel := context.WithTimeout(context.Background(), ending)
	defer cancel()
	for ctx.Err() == nil {
		left := proc.WithEnv(mark, run)
		if len(left) == 0 {
			return
		}
		ids := make([]proc.ID, len(left))
		for n, p := range left {
			ids[n] = p.ID
			_ = proc.Signal(p.ID, syscall.SIGKILL) // it may have ended
		}
		proc.Gone(ctx, ids)
	}
}

// A bounded takes so much, and then has the program ended.
type bounded struct {
	text bytes.Buffer
	left int
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.over = true
		b.full()
		return 0, ErrLong
	}
	b.left -= len(p)
	return b.text.Write(p)
}
