package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// endedAtOnce looks at the session for the first time. tmux has just made it for us, so that the process tells whether it goes on; only one
// that has ended, or is not yet what it is to become, is looked for in tmux.
func (b *begin) endedAtOnce(ctx context.Context) bool {
	if b.first.PID == 0 {
		return b.looked(ctx, false)
	}
	still := forked(b.first.PID, b.pane.Server)
	for end := time.Now().Add(becomes); still && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
		still = forked(b.first.PID, b.pane.Server)
	}
	name := inFront(b.first.PID)
	if still || name == "" || !b.first.Alive() {
		return b.looked(ctx, false)
	}
	b.pane.Command = name
	return false
}

// becomes is how long the process of a new pane may take to become its program: until then tmux calls it tmux. It mostly has
// when the bus has the agent, and was seen not to have where all processors had other work.
const becomes = 100 * time.Millisecond

// forked tells whether the process of a new pane is still the copy of the server that tmux makes first.
func forked(first, server int) bool {
	comm, err := proc.Comm(first)
	above, e := proc.Comm(server)
	return err == nil && e == nil && comm == above
}

// inFront is what tmux would call the program of a pane in which it was just started, "" when that is not to be told.
func inFront(first int) string {
	comm, err := proc.Comm(first)
	if err != nil {
		return ""
	}
	if runtime.GOOS != "linux" {
		return comm
	}
	argv, err := proc.Cmdline(first)
	if err != nil || len(argv) == 0 || strings.Contains(argv[0], `"`) {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(argv[0], " -"), " ")
	if strings.HasPrefix(name, "/") {
		name = filepath.Base(name)
	}
	return name
}

// looked looks at the pane, with the screen if wanted, and tells whether its program has ended. A screen that could not be read shows
// nothing: what an earlier one has shown does not count.
func (b *begin) looked(ctx context.Context, screen bool) (ended bool) {
	if screen {
		b.seen = driver.Seen{}
	}
	pane, err := b.find(ctx)
	switch {
	case errors.Is(err, tmux.ErrAbsent):
		return true
	case err != nil || pane.Owner != b.row.OwnerID:
		return err == nil // another one has the name: ours is gone
	}
	b.pane = pane
	if pane.Dead {
		return true
	}
	if !screen {
		return false
	}
	text, err := b.server.Capture(ctx, pane.Ref(), tmux.Capture{})
	if err != nil {
		return errors.Is(err, tmux.ErrDead)
	}
	b.screen = text
	if b.kind.Life.Screen != nil {
		b.seen = b.kind.Life.Screen(text, pane.Title)
	}
	return false
}

// Looks are the looks at a new session that were done, as its row says.
func Looks(r *registry.Row) []string {
	list, _ := canonjson.Strings(r.Get(looksMember))
	return list
}

func addLook(r *registry.Row, look string) {
	all := Looks(r)
	if slices.Contains(all, look) {
		return
	}
	var o canonjson.Object
	o.Strs("l", append(all, look))
	list, _ := canonjson.Get(o.Bytes(), "l")
	r.Set(looksMember, list)
}

// wait does the looks that come later. Who begins a session without waiting leaves them to the monitor.
func (b *begin) wait(ctx context.Context) error {
	for _, l := range laterLooks {
		select {
		case <-time.After(time.Until(b.at.Add(l.after))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if b.looked(ctx, true) {
			return b.over(ctx, l.name)
		}
		if err := b.change(ctx, func(r *registry.Row) { addLook(r, l.name); b.noted(r) }); err != nil {
			return err
		}
	}
	return nil
}

// noted writes what the screen shows.
func (b *begin) noted(r *registry.Row) {
	r.Pane.Cmd = b.pane.Command
	r.VisibleNote = b.note()
}

// note is what stands open in place of the line where its user types, "" for nothing.
func (b *begin) note() string {
	comms := b.kind.Life.Comms
	switch {
	case b.seen.Dialog != "":
		return Dialog(b.seen)
	case b.seen.Note != "":
		return b.seen.Note
	case len(comms) > 0 && !slices.Contains(comms, b.pane.Command) && isShell(b.pane.Command) && !b.runs():
		return fmt.Sprintf("%s is in front, not %s", b.pane.Command, b.kind.Title)
	}
	return ""
}

// runs tells whether its program runs below the first process: a script of a user's own can stand above it.
func (b *begin) runs() bool {
	all, err := proc.List()
	return err == nil && slices.ContainsFunc(proc.Tree(all, b.first), func(p proc.Process) bool { return observe.Runs(b.kind, p) })
}

// Dialog says what a program shows in place of the line where its user types, "" for nothing.
func Dialog(s driver.Seen) string {
	switch {
	case s.Dialog == "":
		return ""
	case s.Doing == driver.Asking, strings.HasPrefix(s.Dialog, "whether "), strings.HasPrefix(s.Dialog, "what "):
		return "it asks " + s.Dialog
	}
	return "it shows " + s.Dialog
}

// isShell tells whether a process in front is a shell: the program has ended inside of it.
func isShell(comm string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "fish", "dash", "ksh", "tcsh", "csh"}, comm)
}
