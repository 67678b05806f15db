// Package drill proves whether a halt stops an agent CLI as it is installed here, because vendors change hooks without notice.
//
// [Run] starts the real program in a home folder of its own, with the user's own hooks of tutti and nothing else of the user's, against a
// scripted model on the loopback interface. The model calls a shell tool that adds a line to a file, again and again. Then Run
// makes the halt switch of that home folder, and counts the lines that still come.
//
// It promises:
//
//   - It touches no agent of the user and not the user's halt switch. It needs no account and no network.
//   - A CLI counts as stopped only if its hook recorded this halt and at most one call began after it.
//   - It ends every process that it started, and deletes the home folder.
//
// What is not tried: the screen of a CLI, its dialogs and its subagents, and tools other than the shell.
package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/attention/hookmark"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// A State is the result of a drill.
type State string

// The states.
const (
	Stopped    State = "stopped"
	NotStopped State = "not_stopped"
	NotTried   State = "not_tried"
)

// A Result is what a drill found out about one agent CLI.
type Result struct {
	CLI     string    `json:"cli"`
	Version string    `json:"version,omitempty"`
	State   State     `json:"state"`
	Calls   int       `json:"calls"`   // that began after the halt
	Took    int64     `json:"took_ms"` // from the halt until the turn had ended
	Text    string    `json:"text"`    // in words
	At      time.Time `json:"at"`
}

// Line is the result as people read it.
func (r *Result) Line() string {
	return strings.TrimSpace(r.CLI+" "+r.Version) + ": " + r.Text
}

// Options say what is tried. All are needed.
type Options struct {
	Place   driver.Site // the user, for the hooks
	Version string      // of the CLI; "" when it does not say so
	Program string      // of the CLI, absolute
	Now     time.Time
}

const (
	startTime = 90 * time.Second // for the first call: a busy machine needs 20 s to start some of them
	haltTime  = 45 * time.Second // for a CLI to stand still; a hook that does not answer may take 10 s
	warmUp    = 2                // calls before the halt
	tick      = 20 * time.Millisecond
)

// Has tells whether there is a drill for a CLI.
func Has(cli string) bool {
	_, ok := subjects[cli]
	return ok
}

// Run drills one agent CLI.
func Run(ctx context.Context, d *driver.Driver, o Options) Result {
	r := Result{CLI: d.Name, Version: o.Version, State: NotTried, At: o.Now.UTC().Truncate(time.Second)}
	s, ok := subjects[d.Name]
	if !ok {
		r.Text = "not tried: there is no drill for it"
		return r
	}
	if err := r.run(ctx, d, &s, &o); err != nil {
		r.State, r.Text = NotTried, "not tried: "+err.Error()
	}
	return r
}

func (r *Result) run(ctx context.Context, d *driver.Driver, s *subject, o *Options) error {
	home, err := os.MkdirTemp("", "tutti-drill-")
	if err != nil {
		return err
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return err
	}
	defer os.RemoveAll(home)
	run := running{home: home, work: filepath.Join(home, "work")}
	if err := os.Mkdir(run.work, 0o700); err != nil {
		return err
	}
	m, err := serve(s.tool, func(n int) any { return s.args("echo " + strconv.Itoa(n) + " >>" + run.ticks() + "; sleep 0.2") })
	if err != nil {
		return err
	}
	defer m.close()
	if s.settings != nil {
		for name, text := range s.settings(m.url) {
			if err := run.write(name, text); err != nil {
				return err
			}
		}
	}
	q := setup.Request{Place: o.Place, Now: o.Now}
	copied, err := q.CopyHooks(d, driver.Site{Home: home})
	if err != nil {
		return fmt.Errorf("read its hooks: %w", err)
	}
	run.command = exec.CommandContext(ctx, o.Program, s.argv("Run the command until I stop you.")...)
	run.command.Dir = run.work
	run.command.Env = s.environment(home, m.url, o.Place.Env)
	if err := run.start(); err != nil {
		return err
	}
	defer run.end()
	if err := run.warm(ctx); err != nil {
		return err
	}
	return r.halt(ctx, &run, m, d, &copied)
}

// halt sets the switch of the home folder, waits until the CLI stands still, and judges.
func (r *Result) halt(ctx context.Context, run *running, m *model, d *driver.Driver, copied *setup.Copied) error {
	if err := run.write(".config/cross-agent-comms/HALT", "drill\n"); err != nil {
		return err
	}
	began := time.Now()
	m.halt()
	before := run.count()
	ended := func() bool { return run.gone() || m.ended() }
	if err := wait(ctx, haltTime, ended); err != nil && !errors.Is(err, errTime) {
		return err
	}
	r.Took = time.Since(began).Milliseconds()
	run.end()
	r.Calls = run.count() - before
	acked := acknowledged(run.home)
	switch {
	case r.Calls <= 1 && acked:
		r.State = Stopped
		r.Text = fmt.Sprintf("stopped after %s, %.1f s", plural(r.Calls, "call"), float64(r.Took)/1000)
	case r.Calls > 1:
		r.State = NotStopped
		r.Text = "hook did not fire: only --kill stops it" + because(d, copied)
	default:
		return fmt.Errorf("it ended by itself: %s", run.said())
	}
	return nil
}

// because says why the hook did not fire, where that can be told from the settings.
func because(d *driver.Driver, c *setup.Copied) string {
	switch {
	case c.Hooks == 0:
		return " (no hooks of tutti in its settings; run tutti host setup --host " + d.Name + ")"
	case c.Missing != "":
		return " (its hooks call " + c.Missing + ", which is not there)"
	case c.Off:
		return " (its settings turn hooks off)"
	case !c.AllTools:
		return " (no hook before every tool; run tutti host setup --host " + d.Name + ")"
	case c.Waiting:
		return " (its hooks wait for your review)"
	}
	return ""
}

// acknowledged tells whether a hook in this home recorded the halt.
func acknowledged(home string) bool {
	marks, _ := hookmark.Ever(filepath.Join(home, ".local/state/tutti"))
	for _, m := range marks {
		if m.Acked > 0 {
			return true
		}
	}
	return false
}

// A running is a CLI that runs in its home folder.
type running struct {
	home, work string
	command    *exec.Cmd
	out        tail
	done       chan struct{}
}

func (run *running) ticks() string { return filepath.Join(run.work, "ticks") }

func (run *running) write(name, text string) error {
	path := filepath.Join(run.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func (run *running) start() error {
	run.command.Stdout, run.command.Stderr = &run.out, &run.out
	run.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.command.Cancel = func() error { return syscall.Kill(-run.command.Process.Pid, syscall.SIGKILL) }
	run.command.WaitDelay = time.Second
	if err := run.command.Start(); err != nil {
		return err
	}
	run.done = make(chan struct{})
	go func() {
		_ = run.command.Wait()
		close(run.done)
	}()
	return nil
}

func (run *running) gone() bool {
	select {
	case <-run.done:
		return true
	default:
		return false
	}
}

// warm waits for the first calls.
func (run *running) warm(ctx context.Context) error {
	err := wait(ctx, startTime, func() bool {
		return run.count() >= warmUp || run.gone()
	})
	switch {
	case run.count() >= warmUp:
		return nil
	case errors.Is(err, errTime):
		return fmt.Errorf("no tool call within %v: %s", startTime, run.said())
	case err != nil:
		return err
	}
	return fmt.Errorf("it ended before its second tool call: %s", run.said())
}

// count is how many calls have begun.
func (run *running) count() int {
	raw, _, _ := smallfile.Read(run.ticks(), 64<<10, smallfile.NoLinks)
	return bytes.Count(raw, []byte{'\n'})
}

// end ends the CLI and everything below its home folder, also what left its process group.
func (run *running) end() {
	if run.command.Process != nil {
		_ = syscall.Kill(-run.command.Process.Pid, syscall.SIGKILL)
		<-run.done
	}
	for range 50 {
		left := proc.WithEnv("HOME", run.home)
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = proc.Signal(p.ID, syscall.SIGKILL)
		}
		time.Sleep(tick)
	}
}

// said is the last line that the CLI printed.
func (run *running) said() string {
	text := strings.TrimSpace(run.out.text())
	if text == "" {
		return "it printed nothing"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

var errTime = errors.New("time is up")

// wait looks until it is so.
func wait(ctx context.Context, long time.Duration, so func() bool) error {
	end := time.Now().Add(long)
	for !so() {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return errTime
		}
		time.Sleep(tick)
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
