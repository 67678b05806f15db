package wake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/tmux"
)

// RewakeRung tells the hook that waits at a bell to say [Sentence] or [GoOn]; nil: there is none.
func RewakeRung(bell func() *Socket, say string) Rung {
	return Rung{Rewake, func(ctx context.Context) Attempt {
		b := bell()
		if b == nil {
			return Attempt{}
		}
		there, err := b.Ring(ctx, say)
		return Attempt{Did: there, Counts: true, Err: err}
	}}
}

// ChannelRung sends the notification of a program that may listen to it. Nothing ever tells whether it does, so it never
// counts.
func ChannelRung(method string, notify func(method string, params []byte) error, say string) Rung {
	return Rung{Channel, func(context.Context) Attempt {
		var o canonjson.Object
		o.Str("content", say)
		o.Raw("meta", []byte("{}"))
		if err := notify(method, o.Bytes()); err != nil {
			return Attempt{Err: err}
		}
		return Attempt{Did: true}
	}}
}

// A Program is what is started to reach an agent.
type Program struct {
	Path string
	Env  []string // beside the environment of this process
}

// queueLimit is how long a program may take to put a sentence into its queue. It takes a tenth of a second, and a few where the
// server behind it has to be started.
const queueLimit = 15 * time.Second

// maxSaid is how much of what a program says is kept, in bytes.
const maxSaid = 4 << 10

// QueueRung has a CLI queue the sentence for a conversation of its own. find returns the program that serves the agent, and
// conversation the id, "" as long as it is not known. held reports that the queue would not be read, and that typing is
// possible instead; nil: it always is.
func QueueRung(make func(conversation, text string) []string, find func() (Program, error), conversation func(context.Context) string, held func(context.Context) bool, say string) Rung {
	return Rung{Queue, func(ctx context.Context) Attempt {
		id := conversation(ctx)
		if held != nil && held(ctx) {
			return Attempt{}
		}
		if id == "" || strings.HasPrefix(id, "-") {
			return Attempt{}
		}
		p, err := find()
		if err != nil {
			return Attempt{Err: err}
		}
		if err := p.run(ctx, make(id, say)); err != nil {
			return Attempt{Did: true, Err: err}
		}
		return Attempt{Did: true, Counts: true}
	}}
}

var errSlow = fmt.Errorf("no end within %s", queueLimit)

// run starts the program without a terminal and without a shell, and waits for its end. What it has started itself ends with it
// when it takes too long.
func (p Program) run(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queueLimit, errSlow)
	defer cancel()
	c := exec.CommandContext(ctx, p.Path, args...)
	c.Env = append(os.Environ(), p.Env...)
	said := &head{}
	c.Stdout, c.Stderr = said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 2 * time.Second // a process that it has left behind may hold its output
	err := c.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it has ended well
		return nil
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", filepath.Base(p.Path), context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w%s", filepath.Base(p.Path), err, said.words())
}

// head keeps the beginning of what is written.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxSaid-len(h.text))]...)
	return len(p), nil
}

// maxWords is how much of what a program said goes into the record, in bytes.
const maxWords = 160

// words is the first line, fit for a record.
func (h *head) words() string {
	line, _, _ := strings.Cut(strings.TrimSpace(tmux.Clean(string(h.text))), "\n")
	if line == "" {
		return ""
	}
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "")
	}
	return ": " + line
}

// NudgeRung types the sentence into the pane of an agent.
func NudgeRung(n Nudger, d *driver.Driver) Rung {
	if d.Wake.Nudge {
		n.screen = d.Life.Screen
	}
	return Rung{Nudge, n.try}
}

// DesktopRung tells the person; told is false where there is no desktop.
func DesktopRung(say func(context.Context) (told bool, err error)) Rung {
	return Rung{Desktop, func(ctx context.Context) Attempt {
		told, err := say(ctx)
		return Attempt{Did: told, Counts: true, Err: err}
	}}
}
