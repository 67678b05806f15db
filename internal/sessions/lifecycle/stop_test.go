package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// stopped checks all that has to hold after a stop.
func (r *rig) stopped(before *registry.Row) registry.Row {
	r.t.Helper()
	row := r.row(before.Name)
	if row.Status != registry.Stopped || row.StoppedAt.IsZero() || row.StopReason == "" || row.Mode != "graceful" || row.Resumable != registry.Yes || row.Intent != nil {
		r.t.Errorf("the row after the stop: %s", row.JSON())
	}
	if row.Pane.PID != before.Pane.PID || row.Pane.Cmd != before.Pane.Cmd || row.Pane.Cwd != before.Pane.Cwd || row.StartCommand != before.StartCommand {
		r.t.Errorf("what a stop has to leave: %s\nbefore: %s", row.JSON(), before.JSON())
	}
	if before.Conversation() == "" && !strings.Contains(string(row.JSON()), `"claude_session_id_own":null`) && row.Agent == "claude" {
		r.t.Errorf("the place for the conversation is gone: %s", row.JSON())
	}
	r.nothing(before)
	return row
}

// nothing checks that nothing of a session is there.
func (r *rig) nothing(before *registry.Row) {
	r.t.Helper()
	if p, err := r.srv.Find(r.t.Context(), before.Name); err == nil {
		r.t.Errorf("tmux still has it: %+v", p)
	}
	r.until("the server to say so", func() bool { _, err := r.srv.Find(r.t.Context(), before.Name); return errors.Is(err, tmux.ErrAbsent) })
	if left := proc.WithEnv(dirVariable, filepath.Join(r.dir, before.Name)); len(left) > 0 {
		r.t.Errorf("what still runs: %v", left)
	}
}

// TestStop ends programs with every bad habit, and by no more than it takes.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modes string
		grace time.Duration
		keys  bool // NoKeys
		steps []string
		agent string
	}{
		"idle":                   {modes: "idle", steps: []string{StepKeys, StepKill}},
		"idle, no keys":          {modes: "idle", keys: true, steps: []string{StepTerm, StepKill}},
		"idle, slow":             {modes: "idle,slow-exit", steps: []string{StepKeys, StepKill}},
		"busy":                   {modes: "busy", steps: []string{StepTerm, StepKill}},
		"a question":             {modes: "dialog", steps: []string{StepEscape, StepKeys, StepKill}},
		"a question that stays":  {modes: "dialog,stuck", steps: []string{StepEscape, StepTerm, StepKill}},
		"the user has typed":     {modes: "draft", steps: []string{StepTerm, StepKill}},
		"ignores its exit":       {modes: "idle,never-exit", grace: 300 * time.Millisecond, steps: []string{StepKeys, StepTerm, StepKill}},
		"ignores the end of tty": {modes: "busy,ignore-hup", steps: []string{StepTerm, StepKill}},
		"ignores SIGTERM":        {modes: "busy,ignore-term", grace: 300 * time.Millisecond, steps: []string{StepTerm, StepKill}},
		"ignores both":           {modes: "busy,ignore-term,ignore-hup", grace: 300 * time.Millisecond, steps: []string{StepTerm, StepKill, StepSIGKILL}},
		"ignores everything":     {modes: "idle,never-exit,ignore-term,ignore-hup", grace: 300 * time.Millisecond, steps: []string{StepKeys, StepTerm, StepKill, StepSIGKILL}},
		"slow":                   {modes: "busy,slow-exit", steps: []string{StepTerm, StepKill}},
		"leaves a daemon":        {modes: "idle,daemon", steps: []string{StepKeys, StepTerm, StepKill}},
		"a daemon that stays":    {modes: "idle,daemon,stubborn", grace: 300 * time.Millisecond, steps: []string{StepKeys, StepTerm, StepKill, StepSIGKILL}},
		"a group of its own":     {modes: "busy,group", steps: []string{StepTerm, StepKill}},
		"another program":        {modes: "idle", agent: "custom", steps: []string{StepTerm, StepKill}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if c.agent == "" {
				c.agent = "claude"
			}
			row := r.begin("one", c.modes, func(row *registry.Row) { row.Agent, row.Job = c.agent, "job1" })
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Reason: "test", Grace: c.grace, NoKeys: c.keys})
			if err != nil {
				t.Fatal(err)
			}
			after := r.stopped(&row)
			if after.StopReason != "test" || !slices.Equal(out.Steps, c.steps) {
				t.Errorf("reason %q, steps %q, want %q; notes %q", after.StopReason, out.Steps, c.steps, out.Notes)
			}
			if r.wrote("one", "approved") {
				t.Error("the question was answered with yes")
			}
			if after.VisibleScreen == "" || after.VisibleStatus != registry.Stopped {
				t.Errorf("its last screen: %q, %s", after.VisibleScreen, after.VisibleStatus)
			}
			if want := []string{"job1 progress terminating", "job1 error stopped by operator"}; !slices.Equal(r.job, want) {
				t.Errorf("the job got %q, want %q", r.job, want)
			}
			again, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
			if err != nil || !again.Already || len(again.Steps) > 0 {
				t.Errorf("the second stop: %+v, %v", again, err)
			}
			if got := r.row("one"); string(got.JSON()) != string(after.JSON()) {
				t.Errorf("the second stop wrote\n%s\nbefore\n%s", got.JSON(), after.JSON())
			}
		})
	}
}

// TestStopDead: the program has ended by itself, or tmux has no such session.
func TestStopDead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modes string
		do    func(r *rig, row *registry.Row)
		gone  bool
	}{
		"its program ended":          {modes: "idle", do: func(r *rig, row *registry.Row) { r.kill(row.Pane.PID); r.dead(row) }},
		"its program left a daemon":  {modes: "idle,daemon", do: func(r *rig, row *registry.Row) { r.kill(row.Pane.PID); r.dead(row) }},
		"its session was ended":      {modes: "idle", do: func(r *rig, row *registry.Row) { r.tmux("kill-session", "-t", "=one") }, gone: true},
		"the server was killed":      {modes: "idle,ignore-hup,ignore-term", do: func(r *rig, row *registry.Row) { r.killServer(row) }, gone: true},
		"a daemon outlived the same": {modes: "idle,daemon", do: func(r *rig, row *registry.Row) { r.killServer(row) }, gone: true},
		"the machine was started anew": {modes: "idle", do: func(r *rig, row *registry.Row) {
			r.tmux("kill-session", "-t", "=one")
			r.write(row, func(row *registry.Row) { // the number belongs to us now
				row.BootID, row.Pane.PID, row.Pane.StartTicks = "before", os.Getpid(), proc.Self().Start
			})
		}, gone: true},
		"its number has changed hands": {modes: "idle", do: func(r *rig, row *registry.Row) {
			r.tmux("kill-session", "-t", "=one")
			r.write(row, func(row *registry.Row) { row.Pane.PID = os.Getpid() })
		}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			row := r.begin("one", c.modes)
			near := r.begin("one-2", "idle") // keeps the server, and has a name that begins alike
			c.do(r, &row)
			row = r.row("one")
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Grace: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if out.Gone != c.gone {
				t.Errorf("gone: %v, want %v", out.Gone, c.gone)
			}
			r.stopped(&row)
			if s := observe.Look(t.Context(), &near); !strings.Contains(name, "killed") && !strings.Contains(name, "outlived") && s.State != observe.Alive {
				t.Errorf("another session: %+v", s)
			}
		})
	}
}

// TestStopUnreachable: the socket of the server was removed. The state is unknown, and nothing is done.
func TestStopUnreachable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	p, err := r.srv.Find(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := r.srv.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(snap.Socket); err != nil {
		t.Fatal(err)
	}
	_, err = r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Unclear {
		t.Errorf("error %v", err)
	}
	if now := r.row("one"); now.Status != registry.Running {
		t.Errorf("the row: %s", now.JSON())
	}
	if err := syscall.Kill(p.Server, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	r.until("the socket", func() bool { _, err := r.srv.Find(t.Context(), "one"); return err == nil })
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err != nil {
		t.Fatal(err)
	}
	r.stopped(&row)
}

func (r *rig) kill(pid int) {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) dead(row *registry.Row) {
	r.until("tmux to notice", func() bool { p, err := r.srv.Find(r.t.Context(), row.Name); return err == nil && p.Dead })
}

func (r *rig) killServer(*registry.Row) {
	p, err := r.srv.Find(r.t.Context(), "one")
	if err != nil {
		r.t.Fatal(err)
	}
	r.kill(p.Server)
	r.until("the server to end", func() bool { _, err := r.srv.Find(r.t.Context(), "one"); return errors.Is(err, tmux.ErrAbsent) })
}

func (r *rig) write(row *registry.Row, f func(*registry.Row)) {
	r.t.Helper()
	if _, err := r.reg.Change(r.t.Context(), row.Name, func(to *registry.Row, _ bool) error { f(to); return nil }); err != nil {
		r.t.Fatal(err)
	}
}

// TestStopOthers: the tmux session does not match the row. Nothing is touched without force.
func TestStopOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(row *registry.Row) // after the session was made
		force  bool
		kind   Kind
		fails  bool
	}{
		"a session of the user":             {change: func(row *registry.Row) { row.OwnerID = "somebodyelse" }, kind: NotTheOne, fails: true},
		"a session of the user, with force": {change: func(row *registry.Row) { row.OwnerID = "somebodyelse" }, force: true},
		"an old row, another program":       {change: func(row *registry.Row) { row.OwnerID, row.Pane.PID = "", 1 }, kind: NotTheOne, fails: true},
		"ours, with another program":        {change: func(row *registry.Row) { row.Pane.PID = os.Getpid() }},
		"ours, of another boot":             {change: func(row *registry.Row) { row.BootID = "before" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			row := r.begin("one", "idle")
			r.write(&row, c.change)
			row = r.row("one")
			_, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Force: c.force})
			if c.fails {
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Kind != c.kind {
					t.Fatalf("error %v, want kind %d", err, c.kind)
				}
				if p, err := r.srv.Find(t.Context(), "one"); err != nil || p.Dead {
					t.Errorf("it was touched: %+v, %v", p, err)
				}
				if now := r.row("one"); string(now.JSON()) != string(row.JSON()) {
					t.Errorf("its row was changed to %s", now.JSON())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.stopped(&row)
		})
	}
}

// TestStopRenamed: a user gave the session another name, and another one has its name now.
func TestStopRenamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.tmux("rename-session", "-t", "=one", "two")
	r.tmux("new-session", "-d", "-s", "one", "-c", r.dir, "--", "cat", "-")
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.srv.Find(t.Context(), "two"); !errors.Is(err, tmux.ErrAbsent) {
		t.Errorf("it is there under its new name: %v", err)
	}
	if p, err := r.srv.Find(t.Context(), "one"); err != nil || p.Dead || p.Command != "cat" {
		t.Errorf("the user's own session: %+v, %v", p, err)
	}
	if proc.WithEnv(observe.Variable, row.OwnerID) != nil {
		t.Error("something of it still runs")
	}
}

// TestStopUnregistered: without a row nothing is ended, unless forced.
func TestStopUnregistered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("one", "", "claude", "idle")
	for _, regOf := range []string{"none", "another row"} {
		_, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != Refused || !strings.Contains(e.Next, "--force-no-yaml") || !strings.Contains(e.Next, "create") {
			t.Errorf("%s: error %v", regOf, err)
		}
		if regOf == "none" {
			r.begin("other", "idle")
		}
	}
	before, err := os.ReadFile(r.reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", ForceNoYAML: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(out.Steps, StepTerm) {
		t.Errorf("steps %q", out.Steps)
	}
	r.nothing(&registry.Row{Name: "one"})
	after, err := os.ReadFile(r.reg.Path())
	if err != nil || string(after) != string(before) {
		t.Errorf("the registry was changed: %v\n%s", err, after)
	}
	if _, err = r.m.Stop(t.Context(), StopRequest{Session: "one", ForceNoYAML: true}); err == nil {
		t.Error("no error for an unknown name")
	}
}

const stepVariable = "TUTTI_TEST_STEP"

// stopUntil stops the session "one" and is killed at a step.
func stopUntil(step string) int {
	reg, err := yaml.Open(os.Getenv("TUTTI_TEST_REGISTRY"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := New(Options{Registry: reg, Workspace: os.Getenv("TUTTI_TEST_WORK"), Home: os.Getenv("HOME")})
	m.at = func(at string) {
		if at == step {
			fmt.Println("at " + step)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // an empty select is a deadlock to a program without C
		}
	}
	if _, err = m.Stop(context.Background(), StopRequest{Session: "one", Grace: 300 * time.Millisecond}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestStopKilled: a stop is killed between any two steps. No row is lost, the pending tool does not run, and the next stop continues from
// there.
func TestStopKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for modes, steps := range map[string][]string{
		"idle,daemon":  {"begin", "captured", "intent", "told", "pasted", "typed", "signalled", "rested", "closed", "ended", "unwritten", "written"},
		"dialog,stuck": {"captured", "escaped", "signalled"},
		"dialog":       {"escaped", "pasted", "typed"},
		"busy,ignore-term,ignore-hup,daemon,stubborn": {"told", "signalled", "closed", "ended"},
	} {
		for _, step := range steps {
			t.Run(modes+" "+step, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				row := r.begin("one", modes)
				r.begin("bystander", "idle")
				c := exec.Command(self)
				c.Env = append(os.Environ(), stepVariable+"="+step, "TUTTI_TEST_REGISTRY="+r.reg.Path(), "TUTTI_TEST_WORK="+r.dir, "HOME="+r.home())
				out, err := c.CombinedOutput()
				killed := strings.Contains(string(out), "at "+step)
				if !killed && err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				half := r.row("one")
				done := step == "written" || !killed
				if !done && (half.Status != registry.Running || step != "begin" && step != "captured" && (half.Intent == nil || half.Intent.Verb != "stop")) {
					t.Errorf("the row of a stop that was cut off: %s", half.JSON())
				}
				got, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Grace: 300 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if got.Already != done {
					t.Errorf("already stopped: %v, want %v", got.Already, done)
				}
				r.stopped(&row)
				if r.wrote("one", "approved") {
					t.Error("the question was answered with yes")
				}
				if other := r.row("bystander"); other.Status != registry.Running || observe.Look(t.Context(), &other).State != observe.Alive {
					t.Errorf("another session: %s", other.JSON())
				}
			})
		}
	}
}

// TestStopInterrupted: the caller gives up during a stop. The row says so, and nothing waits for it.
func TestStopInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "busy,ignore-term,ignore-hup")
	ctx, cancel := context.WithCancel(t.Context())
	r.m.at = func(step string) {
		if step == "told" {
			cancel()
		}
	}
	if _, err := r.m.Stop(ctx, StopRequest{Session: "one"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	half := r.row("one")
	if half.Status != registry.Running || half.Intent == nil || half.Intent.PID != 0 {
		t.Errorf("the row: %s", half.JSON())
	}
	if s := observe.Look(t.Context(), &half); s.State != observe.Alive {
		t.Errorf("the session: %+v", s)
	}
	r.m.at = nil
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Grace: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	r.stopped(&row)
}

// TestStopTwice: of several concurrent stops one ends the session, and all report it as stopped.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle,slow-exit", func(row *registry.Row) { row.Job = "j" })
	type result struct {
		out *Stopped
		err error
	}
	all := make(chan result)
	for range 4 {
		m := r.manager()
		go func() {
			out, err := m.Stop(t.Context(), StopRequest{Session: "one"})
			all <- result{out, err}
		}()
	}
	ended := 0
	for range 4 {
		got := <-all
		if got.err != nil {
			t.Error(got.err)
		} else if !got.out.Already || got.out.Row.StoppedAt.IsZero() {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d of them ended it", ended)
	}
	r.stopped(&row)
}

// edited is a line of a row, with its indentation.
var edited = regexp.MustCompile(`(?m)^( +)(agent: claude)\n`)

// TestStopHandEdited: the file is edited between any two steps. No edit is lost, and what cannot be written is reported.
func TestStopHandEdited(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"begin", "captured", "intent", "told", "typed", "closed", "ended", "unwritten"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			row := r.begin("one", "idle")
			r.m.at = func(at string) {
				if at != step {
					return
				}
				raw, err := os.ReadFile(r.reg.Path())
				if err != nil {
					t.Fatal(err)
				}
				text := edited.ReplaceAllString(string(raw), "${1}${2} # mine\n${1}remark: by hand\n") + "mine:\n  - 1 # kept\n"
				if !strings.Contains(text, "remark") {
					t.Errorf("no such row in\n%s", raw)
				}
				if err := os.WriteFile(r.reg.Path(), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err != nil {
				t.Fatal(err)
			}
			after := r.stopped(&row)
			raw, err := os.ReadFile(r.reg.Path())
			if err != nil || !strings.Contains(string(raw), "# mine") || !strings.Contains(string(raw), "- 1 # kept") || string(after.Get("remark")) != `"by hand"` {
				t.Errorf("what was edited by hand: %v\n%s", err, raw)
			}
		})
	}
}

// TestStopRowTaken: the row is given to another session, or taken away, while its session ends.
func TestStopRowTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.m.at = func(step string) {
		if step == "typed" {
			r.write(&row, func(row *registry.Row) { row.OwnerID = "another" })
		}
	}
	_, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("error %v", err)
	}
	if now := r.row("one"); now.Status != registry.Running || now.OwnerID != "another" {
		t.Errorf("the row of another session: %s", now.JSON())
	}
	r.nothing(&row)
}

// TestStopHalted: ending goes on while everything is halted, and nothing is typed.
func TestStopHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.m.o.Halted = func() error { return errors.New("halted") }
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if err != nil || slices.Contains(out.Steps, StepKeys) {
		t.Errorf("%+v, %v", out, err)
	}
	r.stopped(&row)
}

// TestStopInside: a program inside the session does not end itself by mistake.
func TestStopInside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.m.o.Env = func(name string) string {
		if name == observe.Variable {
			return row.OwnerID
		}
		return ""
	}
	_, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Inside {
		t.Errorf("error %v", err)
	}
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Apart: true}); err != nil {
		t.Fatal(err)
	}
	r.stopped(&row)
}

// TestStopServer: a tmux server that the agent has started serves others, too. It is named and left alone, with what lives in it.
func TestStopServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	inner := newRig(t)
	c := exec.Command("tmux", "-u", "-f", "/dev/null", "-L", inner.name, "new-session", "-d", "-s", "inner", "--", "cat", "-")
	c.Env = append(os.Environ(), observe.Variable+"="+row.OwnerID)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other := inner.begin("two", "idle")
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Apart) != 1 || out.Apart[0].Is != "a tmux server" {
		t.Errorf("who lives on: %+v", out.Apart)
	}
	if p, err := inner.srv.Find(t.Context(), "inner"); err != nil || p.Dead {
		t.Errorf("what the user has in that server: %+v, %v", p, err)
	}
	// The server of a session is not a part of it, though it carries its mark.
	if s := observe.Look(t.Context(), &other); s.State != observe.Alive {
		t.Fatalf("a session in that server: %+v", s)
	}
	if _, err := inner.m.Stop(t.Context(), StopRequest{Session: "two"}); err != nil {
		t.Fatal(err)
	}
	inner.stopped(&other)
	if p, err := inner.srv.Find(t.Context(), "inner"); err != nil || p.Dead {
		t.Errorf("the other session of that server: %+v, %v", p, err)
	}
	r.stopped(&row)
}

// TestStopDaemon: the server that Codex keeps for all its screens lives on and is named, unless it is to be ended, too.
func TestStopDaemon(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{false, true} {
		t.Run(fmt.Sprint(with), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			row := r.begin("one", "busy,server", func(row *registry.Row) { row.Agent = "codex" })
			server := r.sleeper("one")
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", WithDaemon: with})
			if err != nil {
				t.Fatal(err)
			}
			if with {
				r.nothing(&row)
			} else if !server.Alive() || len(out.Apart) != 1 || out.Apart[0].ID != server || !out.Apart[0].Program {
				t.Errorf("the server runs: %v; who lives on: %+v", server.Alive(), out.Apart)
			}
			if with == (len(out.Apart) > 0) {
				t.Errorf("who lives on: %+v", out.Apart)
			}
			if after := r.row("one"); after.Status != registry.Stopped {
				t.Errorf("the row: %s", after.JSON())
			}
		})
	}
}

// TestStopScrolled: a person scrolls in the pane, which swallows keys.
func TestStopScrolled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.tmux("copy-mode", "-t", "=one:")
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if err != nil || !slices.Contains(out.Steps, StepKeys) {
		t.Errorf("%+v, %v", out, err)
	}
	r.stopped(&row)
}

// TestStopStillUp: a process that could not be ended is named, the row still says running, and no process is working on it.
func TestStopStillUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "busy", func(row *registry.Row) { row.Job = "job1" })
	s := &stopping{m: r.m, q: StopRequest{Session: "one"}, row: row, out: &Stopped{Session: "one", Row: row}, srv: r.srv}
	s.find(t.Context())
	if err := s.judge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.recordIntent(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.finish(t.Context(), s.fail(StillUp, nil, "still alive after everything was tried: 7 (stuck)", ""))
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != StillUp {
		t.Errorf("error %v", err)
	}
	after := r.row("one")
	if after.Status != registry.Running || after.Intent != nil || !strings.Contains(after.VisibleNote, "7 (stuck)") || !after.StoppedAt.IsZero() {
		t.Errorf("the row: %s", after.JSON())
	}
	if want := []string{"job1 progress terminating"}; !slices.Equal(r.job, want) {
		t.Errorf("the job got %q, want %q", r.job, want)
	}
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err != nil {
		t.Fatal(err)
	}
	if after := r.stopped(&row); after.VisibleNote != "" {
		t.Errorf("it has ended, and its row says %q", after.VisibleNote)
	}
}

// TestStopModes: the stop modes of older programs.
func TestStopModes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("soft", "idle")
	hard := r.begin("hard", "idle")
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "soft", Mode: Soft}); err != nil {
		t.Fatal(err)
	}
	soft := r.row("soft")
	if soft.Status != registry.Archived || soft.ArchivedAt.IsZero() || observe.Look(t.Context(), &soft).State != observe.Alive {
		t.Errorf("soft: %s", soft.JSON())
	}
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "soft"}); err != nil {
		t.Fatal(err)
	}
	r.stopped(&soft)
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "hard", Mode: Hard}); err != nil {
		t.Fatal(err)
	}
	r.nothing(&hard)
	if row := r.row("hard"); row.Status != registry.Terminated || row.TerminatedAt.IsZero() || row.Resumable != registry.Yes {
		t.Errorf("hard: %s", row.JSON())
	}
}

// TestStopAll: ends all running sessions and reports the outcome of each.
func TestStopAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var rows []registry.Row
	for i := range 6 {
		rows = append(rows, r.begin(fmt.Sprintf("s%d", i), "idle"))
	}
	theirs := r.begin("theirs", "idle")
	r.write(&theirs, func(row *registry.Row) { row.OwnerID = "somebodyelse" })
	all, err := r.m.StopAll(t.Context(), StopRequest{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != NotTheOne || e.Session != "theirs" {
		t.Errorf("error %v", err)
	}
	if len(all) != 7 {
		t.Errorf("%d results", len(all))
	}
	for _, out := range all {
		if (out.Err != nil) != (out.Session == "theirs") {
			t.Errorf("%s: %v", out.Session, out.Err)
		}
	}
	for i := range rows {
		r.stopped(&rows[i])
	}
	if p, err := r.srv.Find(t.Context(), "theirs"); err != nil || p.Dead {
		t.Errorf("the session of another user: %+v, %v", p, err)
	}
}

// TestStopBrokenRegistry: a file that cannot be understood is not touched, and the session can be ended all the same.
func TestStopBrokenRegistry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	raw, err := os.ReadFile(r.reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	broken := string(raw) + "tmux_sessions: [\n"
	if err := os.WriteFile(r.reg.Path(), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", ForceNoYAML: true}); err != nil {
		t.Fatal(err)
	}
	r.nothing(&row)
	if now, err := os.ReadFile(r.reg.Path()); err != nil || string(now) != broken {
		t.Errorf("the file was changed: %v\n%s", err, now)
	}
}

// TestStopRemains: a session whose agent CLI ended by itself, and left a process that ignores it, can be stopped and then begun again.
func TestStopRemains(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle,daemon,stubborn")
	r.kill(row.Pane.PID)
	r.dead(&row)
	r.write(&row, func(row *registry.Row) { endedRow(row, time.Now(), "its program has ended", "", false) })
	ended := r.row("one")
	r.wants(r.m.unused(t.Context(), &ended), Refused, "these processes of it run")
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Grace: 300 * time.Millisecond})
	if err != nil || out.Already || len(out.Ended) == 0 || !slices.Contains(out.Steps, StepTerm) {
		t.Errorf("%+v, %v", out, err)
	}
	r.nothing(&row)
	if after := r.row("one"); after.Status != registry.Terminated || after.Resumable != registry.No || after.Intent != nil {
		t.Errorf("the row: %s", after.JSON())
	}
	if err := r.m.unused(t.Context(), &ended); err != nil {
		t.Errorf("nothing runs: %v", err)
	}
	if again, err := r.m.Stop(t.Context(), StopRequest{Session: "one"}); err != nil || !again.Already {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// TestStopSaves: a program that saves what it has when its terminal goes is given time for that, also with a short grace.
func TestStopSaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "busy,ignore-term,saves")
	out, err := New(r.m.o).Stop(t.Context(), StopRequest{Session: "one", Grace: 300 * time.Millisecond})
	if err != nil || !slices.Equal(out.Steps, []string{StepTerm, StepKill}) || !r.wrote("one", "saved") {
		t.Errorf("%v, %q, saved: %v", err, out.Steps, r.wrote("one", "saved"))
	}
	r.nothing(&row)
}
