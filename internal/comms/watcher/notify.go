package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/platform/notify"
)

// title is that of every notice.
const title = "Cross-agent message"

// The notices that wait for their program, and how long one may take.
const (
	queued      = 256
	noticeLimit = 10 * time.Second
	farewell    = 3 * time.Second // for what still waits when the watcher ends
)

// Notices are shown one after the other beside the watcher, so that a program that hangs holds up no line.
type notices struct {
	ways   []way
	warn   func(key, text string)
	c      chan string
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// A way is a program that shows notices.
type way struct {
	name string
	say  func(ctx context.Context, title, body string) error
}

// newNotices finds the programs. Nil: notices are off, or there is none.
func newNotices(ctx context.Context, o *Options, warn func(key, text string)) *notices {
	if o.NoNotify {
		return nil
	}
	n := &notices{ways: o.ways(), warn: warn, c: make(chan string, queued)}
	if len(n.ways) == 0 {
		warn("notifier", "there is no program that shows notices, or no session bus; messages are logged only")
		return nil
	}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx)) // what waits at the end still has its time
	n.done.Go(n.work)
	return n
}

// show queues a notice. It never waits.
func (n *notices) show(body string) {
	if n == nil {
		return
	}
	select {
	case n.c <- body:
	default:
		n.warn("queue", "notices come faster than they are shown; some are in the log only")
	}
}

func (n *notices) work() {
	for body := range n.c {
		n.one(body)
	}
}

// one shows a notice by the first way that takes it.
func (n *notices) one(body string) {
	for _, w := range n.ways {
		ctx, cancel := context.WithTimeout(n.ctx, noticeLimit)
		err := w.say(ctx, title, body)
		cancel()
		if err == nil || n.ctx.Err() != nil {
			return
		}
		n.warn("way "+w.name, fmt.Sprintf("a notice was not shown: %v", err))
	}
	n.warn("ways", "notices are not shown; messages are logged only")
}

// finish waits for what is queued, for a short while.
func (n *notices) finish() {
	if n == nil {
		return
	}
	close(n.c)
	stop := time.AfterFunc(farewell, n.cancel)
	n.done.Wait()
	stop.Stop()
	n.cancel()
}

// ways lists the programs there are, the one that the user wants first.
func (o *Options) ways() []way {
	if o.say != nil {
		return []way{{"test", o.say}}
	}
	if len(o.NotifyCommand) > 0 {
		return []way{{o.NotifyCommand[0], o.userCommand}}
	}
	var ways []way
	if path, err := exec.LookPath("notify"); err == nil {
		ways = append(ways, way{"notify", func(ctx context.Context, title, body string) error {
			return run(ctx, nil, path, "info", title, body, "--persist")
		}})
	}
	desktop := notify.Desktop{Env: o.Env}
	if !desktop.There() {
		return ways
	}
	if runtime.GOOS == "darwin" {
		return append(ways, way{"desktop", func(ctx context.Context, title, body string) error {
			_, err := desktop.Say(ctx, title, body)
			return err
		}})
	}
	return append(ways, way{"notify-send", func(ctx context.Context, title, body string) error {
		// 0: it stays until the user closes it. The text may hold marks of its own.
		return run(ctx, o.bus(), "notify-send", "--urgency=normal", "--expire-time=0", "--", title, marks.Replace(body))
	}})
}

var marks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// bus adds the session bus to an environment that lacks it, as that of a service may.
func (o *Options) bus() []string {
	const name = "DBUS_SESSION_BUS_ADDRESS"
	if o.Env(name) != "" {
		return nil
	}
	dir := o.Env("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	return []string{name + "=unix:path=" + filepath.Join(dir, "bus")}
}

// userCommand calls what the user has set. The words are put into arguments, never into a shell.
func (o *Options) userCommand(ctx context.Context, title, body string) error {
	words := strings.NewReplacer("{title}", title, "{body}", body)
	args := make([]string, len(o.NotifyCommand))
	for i, a := range o.NotifyCommand {
		args[i] = words.Replace(a)
	}
	return run(ctx, nil, o.NotifyCommand[0], args[1:]...)
}

// run runs a program to its end.
func run(ctx context.Context, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	if len(env) > 0 {
		c.Env = append(os.Environ(), env...)
	}
	c.WaitDelay = time.Second // a process that it has left behind may hold its output
	out, err := c.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s has not ended: %w", filepath.Base(name), ctx.Err())
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if first = termsafe.Cut(termsafe.Clean(first), 400); first != "" {
		first = ": " + first
	}
	return fmt.Errorf("%s: %w%s", filepath.Base(name), err, first)
}
