package watchdog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// looksLike is an agent as far as it can be seen: the first argument says what its screen shows. What is submitted it writes to the file that the
// second names.
const looksLike = `#!/bin/sh
rule=────────────────────────────────────────────────────────────
title=✳ help='  ? for shortcuts' prompt=$(printf '❯\302\240')
case $1 in
busy) title=⠂ help='  esc to interrupt' ;;
limited) help='  Usage limit reached' ;;
asks) prompt='❯ 1. Yes' help='  2. No' rule='Do you want to proceed?' ;;
esac
printf '\033]2;%s work\033\\\033[2J\033[H● done\n\n%s\n%s\n%s\n%s\033[2A\r\033[2C' "$title" "$rule" "$prompt" "$rule" "$help"
echo $$ >"$2.pid"
while read -r line; do printf '%s\n' "$line" >>"$2"; done
`

// A stage is a tmux server of the test's own.
type stage struct {
	t      *testing.T
	dir    string
	server tmux.Server
	name   string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: typing into panes is not tested")
	}
	s := &stage{t: t, dir: t.TempDir(), name: "d" + rand.Text()[:8]}
	var err error
	if s.server, err = tmux.Named(s.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", s.name, "kill-server").Run() })
	for _, program := range []string{"claude", "other"} {
		if err := progfile.Write(filepath.Join(s.dir, program), []byte(looksLike), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stage) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", s.name}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// agent starts one in a session of its own, and returns its pane and the file with what was submitted.
func (s *stage) agent(program, how string) (pane, got string, pid int) {
	s.t.Helper()
	got = filepath.Join(s.dir, how+program)
	pane = s.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", how+program, "-x", "120", "-y", "20", "--", filepath.Join(s.dir, program), how, got)
	for end := time.Now().Add(time.Minute); pid == 0; time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(got + ".pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		if time.Now().After(end) {
			s.t.Fatal("no agent comes")
		}
	}
	return pane, got, pid
}

func (s *stage) target(pane string) Target {
	return Target{Entry: &Entry{Instance: who, WorkStatus: presence.Paused, StoppedAt: time.Now(), Launch: &presence.Launch{
		Command: "rm -rf /", ResumeCommand: "rm -rf /", Tmux: &presence.Tmux{Session: "", Pane: pane},
	}}}
}

// TestPanes: the sentence is typed only into a pane that is proven to show the idle agent. The text of the entry is never typed: the
// seventeenth weakness.
func TestPanes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := Panes{Servers: func() []tmux.Server { return []tmux.Server{s.server} }, Halted: func(string) error { return nil }}
	for _, c := range []struct {
		program, how string
		want         string
	}{
		{"claude", "idle", "did"},
		{"claude", "busy", "at work"},
		{"claude", "asks", "waits for its user"},
		{"claude", "limited", "does not let it go on"},
		{"claude", "draft", "begun to type"},
		{"claude", "scrolled", "a person is there"},
		{"claude", "halted", "halt"},
		{"claude", "elsewhere", "no pane"}, // another session of tmux has that pane
		{"claude", "later", "no pane"},     // it was started after the stop
		{"other", "idle", "no pane"},       // a shell, or another program, which would run what is typed
	} {
		t.Run(c.program+" "+c.how, func(t *testing.T) {
			t.Parallel()
			pane, got, _ := s.agent(c.program, c.how)
			q := p
			target := s.target(pane)
			switch c.how {
			case "draft":
				s.tmux("send-keys", "-t", pane, "-l", "rm -r ")
			case "scrolled":
				s.tmux("copy-mode", "-t", pane)
			case "halted":
				q.Halted = func(action string) error { return &halt.Error{Action: action} }
			case "elsewhere":
				target.Launch.Tmux.Session = "main"
			case "later":
				target.StoppedAt = time.Now().Add(-time.Minute)
			}
			a, err := q.Try(t.Context(), target)
			said := a.Held + a.Why
			switch {
			case a.Did:
				said = "did"
			case a.AtWork:
				said = "at work"
			case err != nil:
				_, halted := errors.AsType[*halt.Error](err)
				said = fmt.Sprintf("halt %v", halted)
			}
			if !strings.Contains(said, c.want) || said == "halt false" {
				t.Errorf("got %+v, %v; want %q\n%s", a, err, c.want, s.tmux("capture-pane", "-p", "-t", pane))
			}
			if c.want == "did" {
				for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
					if raw, _ := os.ReadFile(got); string(raw) == Sentence+"\n" {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("it was not submitted:\n%s", s.tmux("capture-pane", "-p", "-t", pane))
					}
				}
				return
			}
			if screen := s.tmux("capture-pane", "-p", "-t", pane); strings.Contains(screen, "stopped") {
				t.Errorf("something was typed:\n%s", screen)
			}
		})
	}
}

// TestAmbiguous: two tmux servers number their panes alike. The pane is ambiguous, and nothing is typed.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	one, two := newStage(t), newStage(t)
	two.name += "b"
	two.server, _ = tmux.Named(two.name)
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", two.name, "kill-server").Run() })
	pane, _, _ := one.agent("claude", "idle")
	if again, _, _ := two.agent("claude", "idle"); again != pane {
		t.Fatalf("%s and %s", pane, again)
	}
	p := Panes{Servers: func() []tmux.Server { return []tmux.Server{one.server, two.server} }, Halted: func(string) error { return nil }}
	if a, err := p.Try(t.Context(), one.target(pane)); err != nil || a.Did || !strings.Contains(a.Why, "several") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestProof: the end of an agent is proven by the process that kept its session, and by its pane. That only its own server has died does
// not prove it.
func TestProof(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	pane, _, pid := s.agent("claude", "idle")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	p := Panes{Servers: func() []tmux.Server { return []tmux.Server{s.server} }}
	stamp := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	for _, c := range []struct {
		name string
		is   presence.Session
		want bool
	}{
		{"its keeper runs", presence.Session{PID: os.Getpid(), StartedAt: stamp(0), HeartbeatAt: stamp(time.Second), Launch: launchIn("%99")}, false},
		{"its keeper is gone, its program is not", presence.Session{PID: dead.Process.Pid, StartedAt: stamp(time.Second), HeartbeatAt: stamp(0), Launch: launchIn(pane)}, false},
		{"both are gone", presence.Session{PID: dead.Process.Pid, StartedAt: stamp(-time.Hour), HeartbeatAt: stamp(-time.Minute), Launch: launchIn(pane)}, true},
		{"the number has another owner", presence.Session{PID: pid, StartedAt: stamp(-time.Hour), HeartbeatAt: stamp(-time.Minute), Launch: launchIn("%99")}, true},
		{"of another machine", presence.Session{
			PID: dead.Process.Pid, StartedAt: stamp(-time.Hour), HeartbeatAt: stamp(-time.Minute), Launch: launchIn("%99"),
			Workspace: &presence.Workspace{Host: "not-" + proc.Hostname()},
		}, false},
		{"its pane is not known", presence.Session{PID: dead.Process.Pid, StartedAt: stamp(-time.Hour), HeartbeatAt: stamp(-time.Minute)}, false},
		{"unknown parent process", presence.Session{StartedAt: stamp(-time.Hour), HeartbeatAt: stamp(-time.Minute), Launch: launchIn("%99")}, false},
	} {
		c.is.Instance, c.is.Host = who, "claude"
		if got := p.Ended(t.Context(), &c.is); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func launchIn(pane string) *presence.Launch {
	return &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Pane: pane}}
}

// TestSessions: interrupted sessions are resumed; sessions that ended in order stay ended.
func TestSessions(t *testing.T) {
	t.Parallel()
	lost := registry.Row{Status: registry.Terminated}
	lost.Set("lost", []byte("true"))
	for _, c := range []struct {
		name     string
		row      registry.Row
		err      error
		running  bool
		did      bool
		why, set string
	}{
		{name: "cut off", row: lost, did: true},
		{name: "end not noticed yet", row: registry.Row{Status: registry.Running}, did: true},
		{name: "stopped", row: registry.Row{Status: registry.Terminated, Mode: "graceful"}, why: "ended in order"},
		{name: "it runs", row: registry.Row{Status: registry.Running}, running: true, why: "runs"},
		{name: "another program is at work", row: registry.Row{Status: registry.Running}, err: &lifecycle.Error{Kind: lifecycle.Busy, Session: "a", Text: "another program"}, why: "another program"},
		{name: "of another agent", row: registry.Row{Status: registry.Running, Instance: "claude:web:000000000000"}, why: "no session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row := c.row
			if row.Name, row.Agent = "a", "claude"; row.Instance == "" {
				row.Instance = "Claude:api:" + string(who[len(who)-12:]) // in another spelling
			}
			var asked []lifecycle.ResumeRequest
			s := Sessions{Managers: func(context.Context) ([]Managed, error) {
				return []Managed{{Rows: []registry.Row{row}, Resume: func(_ context.Context, q lifecycle.ResumeRequest) (*lifecycle.Resumed, error) {
					asked = append(asked, q)
					return &lifecycle.Resumed{Name: q.Name, Running: c.running}, c.err
				}}}, nil
			}}
			a, err := s.Try(t.Context(), Target{Entry: &Entry{Instance: who}})
			if err != nil || a.Did != c.did || !strings.Contains(a.Why+a.Held, c.why) {
				t.Errorf("%+v, %v", a, err)
			}
			if c.did && (len(asked) != 1 || asked[0].Prompt != Sentence || asked[0].Trust || asked[0].Force) {
				t.Errorf("%+v", asked)
			}
		})
	}
}

// TestChain: a way that finds the agent at work, or not to be disturbed, is the last; a fault is not.
func TestChain(t *testing.T) {
	t.Parallel()
	way := func(a Attempt, err error, n *int) Relauncher {
		return relauncherFunc(func() (Attempt, error) { *n++; return a, err })
	}
	for _, c := range []struct {
		first Attempt
		err   error
		next  int
	}{
		{Attempt{Did: true}, nil, 0},
		{Attempt{AtWork: true}, nil, 0},
		{Attempt{Held: "a person types"}, nil, 0},
		{Attempt{Why: "no pane"}, nil, 1},
		{Attempt{}, errors.New("broken"), 1},
		{Attempt{}, &halt.Error{}, 0},
	} {
		one, two := 0, 0
		_, err := Chain{way(c.first, c.err, &one), way(Attempt{Did: true}, nil, &two)}.Try(t.Context(), Target{})
		if two != c.next || one != 1 {
			t.Errorf("%+v: the next way was taken %d times, want %d; %v", c.first, two, c.next, err)
		}
	}
}

type relauncherFunc func() (Attempt, error)

func (f relauncherFunc) Try(context.Context, Target) (Attempt, error) { return f() }
