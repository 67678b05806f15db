package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// beginVariable ends this binary, as a child of a test, at a step of create or resume: "create claimed". What it works with stands in
// the variables below.
const (
	beginVariable    = "TUTTI_TEST_BEGIN"
	registryVariable = "TUTTI_TEST_REGISTRY"
	serverVariable   = "TUTTI_TEST_SERVER"
	childModes       = "TUTTI_TEST_MODES"
)

func beginUntil(what string) int {
	verb, step, _ := strings.Cut(what, " ")
	reg, err := yaml.Open(os.Getenv(registryVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, beginVariable+"=") })
	m := New(Options{
		Registry: reg, Workspace: dir, Home: os.Getenv("HOME"), Server: os.Getenv(serverVariable),
		Environ: append(environ, modeVariable+"="+os.Getenv(childModes)),
		Bus: Bus{Began: func(context.Context, Birth) (string, error) {
			return "claude:api:0123456789ab", nil
		}},
	})
	m.at = func(s string) {
		if s == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	switch verb {
	case VerbCreate:
		_, err = m.Create(context.Background(), CreateRequest{Agent: "claude", Name: "a"})
	case "fork":
		_, _, err = m.Fork(context.Background(), ForkRequest{Name: "a", To: "b", Trust: true})
	default:
		_, err = m.Resume(context.Background(), ResumeRequest{Name: "a"})
	}
	fmt.Fprintln(os.Stderr, "it was not ended:", err)
	return 1
}

// cutOff runs create or resume in a process of its own, which is killed at a step.
func (r *rig) cutOff(verb, step string) {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	c := exec.Command(self)
	c.Dir = r.dir
	c.Env = append(os.Environ(), r.environ("types")...)
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, modeVariable+"=") })
	c.Env = append(c.Env, beginVariable+"="+verb+" "+step, registryVariable+"="+r.reg.Path(), serverVariable+"="+r.name, childModes+"=types",
		"PATH="+r.program("claude")+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		r.t.Fatalf("%s was not killed at %q: %v: %s", verb, step, err, out)
	}
}

// said puts the file of a conversation where Claude Code keeps it.
func (r *rig) said(id string, change ...func(path string)) {
	r.t.Helper()
	dir, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	slug := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, dir)
	path := filepath.Join(r.home(), ".claude", "projects", slug, id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	line := fmt.Sprintf("{\"type\":\"user\",\"sessionId\":%q,\"cwd\":%q,\"timestamp\":\"2099-01-01T00:00:00.000Z\"}\n", id, dir)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		r.t.Fatal(err)
	}
	for _, f := range change {
		f(path)
	}
}

// TestBeginKilled kills create and resume between any two steps. Nothing is lost and nothing is there twice: the next one who looks
// finds out what runs.
func TestBeginKilled(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{VerbCreate, "again", VerbResume} {
		for _, step := range []string{"claimed", "made", "started", "told", "recorded"} {
			t.Run(verb+" "+step, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				m := r.creator("types")
				was := ""
				if verb != VerbCreate {
					done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a"})
					if err != nil {
						t.Fatal(err)
					}
					was = done.Row.Conversation()
					r.said(was)
					r.dies(done.Row)
				}
				do := verb
				if verb == "again" {
					do = VerbCreate
				}
				r.cutOff(do, step)
				before := r.row("a")
				if (before.Intent == nil) != (step == "recorded") {
					t.Fatalf("the intent: %s", before.JSON())
				}
				row, err := m.Settle(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				pane, inTmux := r.srv.Find(t.Context(), "a")
				switch {
				case row.Intent != nil:
					t.Errorf("the intent is left: %s", row.JSON())
				case step == "claimed":
					if inTmux == nil || row.Status == registry.Running {
						t.Errorf("nothing was started: %s", row.JSON())
					}
					if was != "" && row.Conversation() != was {
						t.Errorf("its conversation was %s, and is %s", was, row.Conversation())
					}
					if was != "" && row.Resumable != registry.Yes {
						t.Errorf("it cannot be taken up: %s", row.JSON())
					}
				default:
					if inTmux != nil || row.Status != registry.Running || row.Pane.PID != pane.PID || row.OwnerID != pane.Owner || row.Pane.StartTicks == 0 {
						t.Errorf("it runs in %+v: %s", pane, row.JSON())
					}
					if do == VerbResume && row.Conversation() != was {
						t.Errorf("its conversation was %s, and is %s", was, row.Conversation())
					}
				}
				if again, err := m.Settle(t.Context(), "a"); err != nil || again.Revision != row.Revision {
					t.Errorf("settling it twice: %s, %v", again.JSON(), err)
				}
				// And whoever wants it now gets it, once.
				done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
				if verb == VerbCreate && step == "claimed" {
					r.wants(err, Nothing, "nothing to go on with")
					return
				}
				if err != nil || done.Running == (step == "claimed") {
					t.Errorf("resume: %+v, %v", done, err)
				}
				if n := r.tmux("list-sessions"); strings.Count(n, "\n") != 0 {
					t.Errorf("sessions: %s", n)
				}
			})
		}
	}
}

// dies kills the program of a session, its tmux session too, and waits until both are gone.
func (r *rig) dies(row registry.Row) {
	r.t.Helper()
	id, err := proc.Of(row.Pane.PID)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := proc.Signal(id, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	r.until("its end", func() bool { return !id.Alive() })
	r.tmux("kill-session", "-t", "="+row.Name)
}

// TestBusy: a session that another process is working on is left alone.
func TestBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	id, err := proc.Of(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	row := r.begin("a", "idle", func(row *registry.Row) {
		row.Intent = &registry.Intent{Verb: "create", Step: "claimed", PID: id.PID, Start: id.Start, Boot: id.Boot}
	})
	m := r.creator("types")
	for what, f := range map[string]func() error{
		"settle": func() error { _, err := m.Settle(t.Context(), "a"); return err },
		"create": func() error { _, err := m.Create(t.Context(), CreateRequest{Name: "a"}); return err },
		"resume": func() error { _, err := m.Resume(t.Context(), ResumeRequest{Name: "a"}); return err },
	} {
		err := f()
		if kind, ok := kindOfError(err); !ok || kind != Busy || !strings.Contains(err.Error(), "is at work on it") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if again := r.row("a"); again.Revision != row.Revision {
		t.Errorf("the row: %s", again.JSON())
	}
}
