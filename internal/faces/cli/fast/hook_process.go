package fast

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/approval"
	"tutti/internal/attention/hookmark"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// agentProcess is the agent CLI that has started this hook: the parent, or the one above it where that is the shell of the hook.
func agentProcess() (proc.ID, bool) {
	id, comm, err := proc.Named(os.Getppid())
	if err == nil && slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "ash"}, comm) {
		var above int
		if above, err = proc.Parent(id.PID); err == nil {
			id, err = proc.Of(above)
		}
	}
	return id, err == nil && id.PID > 1
}

// dialogWithin is how much later than its hook a dialog may be reported as open.
const dialogWithin = 10 * time.Second

// hookDialog tells whether the dialog is open for which the hook was started, by what the agent CLI says of itself; nil where the CLI shows
// none beside a hook, or no user sits at it. Our plugin ends its hook when the dialog was answered, so there it is open while the CLI runs.
func hookDialog(c *kit.Call, d *driver.Driver, e driver.Event) func() bool {
	home, err := c.App.Home()
	if !e.Beside || err != nil || d.Life.Sheet == nil && !d.Hooks.Module || d.Wake.Alone != nil && d.Wake.Alone(os.Getenv) {
		return nil
	}
	id, ok := agentProcess()
	if !ok {
		return nil
	}
	if d.Hooks.Module {
		return id.Alive
	}
	path := d.Life.Sheet(driver.Site{Home: home, Env: os.Getenv}, id.PID)
	begun, seen := time.Now(), false
	return func() bool {
		if !id.Alive() {
			return false
		}
		if s, ok := SheetAt(d, path); ok && s.PID == id.PID && s.Doing == driver.Asking {
			seen = true
			return true
		}
		return !seen && time.Since(begun) < dialogWithin
	}
}

// DetachedVerb is the verb that waits for an answer when its hook has ended.
const DetachedVerb = "__approval"

// detach leaves a process of the full program behind, with the request on its standard input.
func detach(r approval.Request) error {
	path, err := kit.FullPath()
	if err != nil {
		return err
	}
	in, err := kit.UnnamedFile()
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := in.Write(render.JSON(r)); err != nil {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	cmd := &exec.Cmd{ // without a pipe of its parent, which waits until they are closed
		Path: path, Args: []string{"tutti", DetachedVerb}, Env: append(os.Environ(), kit.BuildVariable+"="+kit.BuildID()), Dir: "/",
		Stdin: in, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// SheetAt reads what an agent CLI says of itself in a file.
func SheetAt(d *driver.Driver, path string) (s driver.SelfReport, ok bool) {
	raw, _, err := smallfile.Read(path, driver.MaxSheet, smallfile.Follow)
	if err != nil {
		return s, false
	}
	return d.Life.ReadSheet(raw)
}

// acknowledge puts down each halt that comes, in the mark of the agent CLI process, until the function that it returns is called.
func acknowledge(ctx context.Context, c *kit.Call, d *driver.Driver, state string) (stop func()) {
	id, ok := agentProcess()
	if !ok {
		return func() {}
	}
	mark := func() {
		m, err := halt.Memory()
		if err != nil {
			return
		}
		err = hookmark.Record(state, hookmark.Mark{PID: id.PID, Start: id.Start, Boot: id.Boot, CLI: d.Name, Build: kit.BuildID(), Acked: m.Count})
		if err != nil {
			c.LogHook(err)
		}
	}
	look, unwatch := c.App.HaltLook()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for halted := true; ; halted = !halted {
			if _, err := halt.WaitFor(ctx, look, halted); err != nil {
				return
			}
			if halted {
				mark()
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		unwatch()
		if halt.Read().Halted { // it ended because of the halt, and the goroutine may not have been there in time
			mark()
		}
	}
}
