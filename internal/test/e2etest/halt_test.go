//go:build e2e

package e2etest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
)

// A loop is a model that never stops calling a tool by itself.
type loop struct {
	mu    sync.Mutex // guards what follows
	calls int
	told  []string    // what the halt said to the model, as it came back
	last  time.Time   // of the requests
	next  func() move // the call; nil: nothing more
}

// halted is how the reason of a halt begins, as an agent reads it.
const halted = "tutti: halted by "

func (l *loop) script(now turn) move {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	for _, e := range now.done {
		if strings.Contains(e.text, halted) {
			l.told = append(l.told, e.text)
		}
	}
	if !strings.Contains(string(now.raw), "loop on") || l.next == nil || len(l.told) > 3 {
		return move{say: "done"}
	}
	l.calls++
	return l.next()
}

// TestHaltStopsEachCLI has each agent CLI stopped in a loop of tool calls, and in the middle of a long command: nothing more runs,
// and a prompt under halt is not answered.
func TestHaltStopsEachCLI(t *testing.T) {
	withGemini := gemini
	withGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	for _, c := range []struct {
		agent agent
		call  func(command string) move
		args  []string
		ends  bool // the turn, not only the tools
	}{
		{seated("197"), bash, []string{"--allowedTools", "Bash", "Agent", "Task"}, true},
		{seated("330"), bash, []string{"--allowedTools", "Bash", "Agent", "Task", "--permission-mode", "default"}, true},
		{screenCodex(t), func(command string) move { return move{tool: "exec_command", args: object{"cmd": command}} }, []string{"--no-daemon", "--dangerously-bypass-hook-trust"}, false},
		{withGemini, func(command string) move {
			return move{tool: "run_shell_command", args: object{"command": command, "description": "Tick"}}
		}, []string{"-m", "gemini-2.5-flash", "--yolo"}, true},
	} {
		for name, command := range map[string]string{"loop": "echo x >>ticks; sleep 0.2", "long command": "echo x >>ticks; sleep 6; echo y >>ticks"} {
			t.Run(c.agent.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := &loop{next: func() move { return c.call(command) }}
				s := haltable(t, c.agent, l, c.args)
				s.tell("loop on", "it works", func() bool { return len(s.ticks()) > 0 })
				raised := time.Now()
				tutti(t, s.d.home, "halt", "--no-stop-watcher", "runaway loop")
				took := s.stands(l, raised)
				t.Logf("MEASURED %s %s, %s: last tool ended after %v, last request after %v; the model was told %d times", c.agent.host, c.agent.version, name, took.tool, took.request, len(l.told))
				if c.ends && len(l.told) > 0 {
					t.Errorf("the turn went on: %q", l.told)
				}
				if !c.ends && len(l.told) == 0 {
					t.Error("the model was not told")
				}
				ticks, asked := len(s.ticks()), len(s.m.seen())
				s.shows("it rests", driver.Seen.Free)
				s.tell("loop on, once more", "the screen says why", func() bool {
					return strings.Contains(s.keys("capture-pane", "-p", "-J", "-S", "-", "-t", "="+s.name+":"), "runaway loop")
				})
				s.stands(l, raised)
				if n := len(s.m.seen()); n != asked || len(s.ticks()) != ticks {
					t.Errorf("after a prompt under halt: %d requests, %d before; %d ticks, %d before", n, asked, len(s.ticks()), ticks)
				}
			})
		}
	}
}

func bash(command string) move {
	return move{tool: "Bash", args: object{"command": command, "description": "Tick"}}
}

// haltable is a program in a fresh home with our hooks, and a model that loops.
func haltable(t *testing.T, a agent, l *loop, args []string) *scene {
	t.Helper()
	agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	known, ok := driver.Kind(a.host)
	if !ok {
		t.Fatalf("%s is not known", a.host)
	}
	home := t.TempDir()
	s := &scene{sitting: &sitting{t: t, m: newModel(t, l.script), tmux: "e" + rand.Text()[:8]}, life: &known.Life}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "a_b"), url: s.m.http.URL}
	if err := os.MkdirAll(s.d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	a.setUp(t, s.d)
	tutti(t, home, "host", "setup", "--host", a.host, "--no-server")
	t.Cleanup(func() {
		s.ends()
		nothingLeft(t, home)
	})
	s.keys("new-session", "-d", "-s", "keep", "--", "sleep", "3600")
	s.begin("first", args)
	s.shows("it rests", driver.Seen.Free)
	return s
}

// ticks are the lines that the tools have written.
func (s *scene) ticks() []string {
	raw, _ := os.ReadFile(filepath.Join(s.d.work, "ticks"))
	return strings.Fields(string(raw))
}

type stood struct{ tool, request time.Duration }

// stands waits until neither a tool has run nor the model was asked for a while, and says when that was last.
func (s *scene) stands(l *loop, since time.Time) (took stood) {
	s.t.Helper()
	const quiet = 8 * time.Second // the longest command takes six
	last := func() (tool, request time.Time) {
		if info, err := os.Stat(filepath.Join(s.d.work, "ticks")); err == nil {
			tool = info.ModTime()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return tool, l.last
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		tool, request := last()
		if time.Since(tool) > quiet && time.Since(request) > quiet && time.Since(since) > quiet {
			return stood{max(0, tool.Sub(since)).Round(10 * time.Millisecond), max(0, request.Sub(since)).Round(10 * time.Millisecond)}
		}
		if time.Now().After(end) {
			s.t.Fatalf("it does not stand still: %d ticks\n%s", len(s.ticks()), s.keys("capture-pane", "-p", "-t", "="+s.name+":"))
		}
	}
}

// TestHaltEndsCommands: "halt --tools" ends the long command that an agent runs, and its turn with it where the agent CLI can. The agent
// stays.
func TestHaltEndsCommands(t *testing.T) {
	withGemini := gemini
	withGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	for _, c := range []struct {
		agent agent
		call  func(command string) move
		args  []string
	}{
		{seated("197"), bash, []string{"--allowedTools", "Bash", "--permission-mode", "default"}},
		{seated("330"), bash, []string{"--allowedTools", "Bash", "--permission-mode", "default"}},
		{screenCodex(t), func(command string) move { return move{tool: "exec_command", args: object{"cmd": command}} }, []string{"--no-daemon", "--dangerously-bypass-hook-trust"}},
		{withGemini, func(command string) move {
			return move{tool: "run_shell_command", args: object{"command": command, "description": "Tick"}}
		}, []string{"-m", "gemini-2.5-flash", "--yolo"}},
		{screenOpencode(), func(command string) move {
			return move{tool: "bash", args: object{"command": command, "description": "Tick"}}
		}, nil},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			l := &loop{next: func() move { return c.call("echo x >>ticks; sleep 123; echo y >>ticks") }}
			s := haltable(t, c.agent, l, c.args)
			s.tell("loop on", "it works", func() bool { return len(s.ticks()) > 0 })
			runs := func(word string) (n int) {
				for _, p := range proc.WithEnv("HOME", s.d.home) {
					args, _ := proc.Cmdline(p.PID)
					if slices.Contains(args, word) {
						n++
					}
				}
				return n
			}
			s.until("the command runs", func() bool { return runs("123") > 0 })
			raised := time.Now()
			out := string(tutti(t, s.d.home, "halt", "--tools", "--yes", "--no-stop-watcher", "runaway loop"))
			byPlugin := c.agent.host == "opencode" && strings.Contains(out, "acknowledged") // its plugin may have ended the command before
			if !strings.Contains(out, "of a command of ") && !byPlugin || runs("123") > 0 {
				t.Errorf("the halt says %s", out)
			}
			t.Logf("MEASURED %s %s: command ended after %v\n%s", c.agent.host, c.agent.version, time.Since(raised).Round(10*time.Millisecond), out)
			s.stands(l, raised)
			s.shows("it rests", driver.Seen.Free)
			if ticks := s.ticks(); len(ticks) != 1 {
				t.Errorf("the command wrote %q", ticks)
			}
		})
	}
}

// TestHaltReachesClaudesOwnTools: while its model thinks a halt comes. The call that the model then makes is denied, also of a tool that
// reaches another Claude; and subagents stand still with the agent that set them to work.
func TestHaltReachesClaudesOwnTools(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version+"/SendMessage", func(t *testing.T) {
			t.Parallel()
			thinks, goOn := make(chan struct{}), make(chan struct{})
			l := &loop{}
			l.next = sync.OnceValue(func() move {
				close(thinks)
				<-goOn
				return move{tool: "SendMessage", args: object{"to": "other", "message": "go on", "summary": "Go on"}}
			})
			s := haltable(t, seated(version), l, []string{"--allowedTools", "SendMessage", "--permission-mode", "default"})
			s.tell("loop on", "it thinks", func() bool {
				select {
				case <-thinks:
					return true
				default:
					return false
				}
			})
			raised := time.Now()
			tutti(t, s.d.home, "halt", "--no-stop-watcher", "runaway loop")
			close(goOn)
			s.until("it is denied", func() bool {
				return strings.Contains(s.keys("capture-pane", "-p", "-J", "-S", "-", "-t", "="+s.name+":"), "runaway loop")
			})
			s.stands(l, raised)
			if n := len(s.m.seen()); l.calls != 1 {
				t.Errorf("%d calls, %d requests", l.calls, n)
			}
			t.Logf("SendMessage is offered: %v", slices.Contains(s.m.seen()[0].offered, "SendMessage"))
		})
		t.Run(version+"/subagents", func(t *testing.T) {
			t.Parallel()
			l := &loop{}
			l.next = func() move { return bash("echo x >>ticks; sleep 0.2") }
			s := haltable(t, seated(version), l, []string{"--allowedTools", "Bash", "Agent", "Task", "--permission-mode", "default"})
			main := l.next
			l.mu.Lock()
			first := true
			l.next = func() move {
				if first {
					first = false
					return move{tool: "Agent", args: object{"description": "Loop", "prompt": "loop on", "subagent_type": "general-purpose", "run_in_background": false}}
				}
				return main()
			}
			l.mu.Unlock()
			s.tell("loop on", "its subagent works", func() bool { return len(s.ticks()) > 2 })
			raised := time.Now()
			tutti(t, s.d.home, "halt", "--no-stop-watcher", "runaway loop")
			took := s.stands(l, raised)
			t.Logf("MEASURED claude 2.1.%s, subagent: last tool ended after %v, last request after %v", version, took.tool, took.request)
			if len(l.told) > 0 {
				t.Errorf("a turn went on: %q", l.told)
			}
		})
	}
}

// TestHaltClosesADialog: a permission dialog that is open when a halt comes is closed, and the tool does not run. A hook that waits beside a
// dialog ends when the user answers it.
func TestHaltClosesADialog(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := &loop{}
			l.next = func() move { return bash("touch approved") }
			s := haltable(t, seated(version), l, []string{"--permission-mode", "default"})
			beside := func() (found bool) {
				for _, p := range proc.WithEnv("HOME", s.d.home) {
					args, _ := proc.Cmdline(p.PID)
					found = found || slices.Contains(args, "PermissionRequest")
				}
				return found
			}
			asks := func(now driver.Seen) bool { return now.Doing == driver.Asking }
			s.tell("loop on", "it asks", func() bool { return asks(s.look()) })
			s.until("a hook waits beside the dialog", beside)
			l.mu.Lock()
			l.next = nil
			l.mu.Unlock()
			s.keys("send-keys", "-t", "=first:", "Escape")
			s.shows("it rests", driver.Seen.Free)
			s.until("the hook has ended", func() bool { return !beside() })

			l.mu.Lock()
			l.next = func() move { return bash("touch approved") }
			l.mu.Unlock()
			s.tell("loop on", "it asks again", func() bool { return asks(s.look()) })
			s.until("a hook waits beside the dialog", beside)
			raised := time.Now()
			tutti(t, s.d.home, "halt", "--no-stop-watcher", "runaway loop")
			s.until("the dialog is closed", func() bool { return !asks(s.look()) })
			t.Logf("MEASURED claude 2.1.%s, open dialog: closed after %v", version, time.Since(raised).Round(10*time.Millisecond))
			s.stands(l, raised)
			if _, err := os.Stat(filepath.Join(s.d.work, "approved")); err == nil {
				t.Error("the tool was used")
			}
			s.until("the hook has ended", func() bool { return !beside() })
		})
	}
}

// TestNoWaitWithoutDialog: claude -p shows no dialog. A hook that waited beside one would keep it for ever.
func TestNoWaitWithoutDialog(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			agentPrograms(t)
			m := newModel(t, func(now turn) move {
				if len(now.done) > 0 {
					return move{say: "done"}
				}
				return bash("touch approved")
			})
			home := t.TempDir()
			d := newDesk(t, claude(version), home, m.http.URL)
			tutti(t, home, "host", "setup", "--host", "claude", "--no-server")
			if out := d.run(t, "--permission-mode", "default", "-p", "work"); !strings.Contains(out, "done") {
				t.Errorf("got %s", out)
			}
			if _, err := os.Stat(filepath.Join(d.work, "approved")); err == nil {
				t.Error("the tool was used without a permission")
			}
		})
	}
}

// TestDeletedProgramBreaksNoAgent: when the program that the hooks call is deleted, each agent CLI works as without hooks.
func TestDeletedProgramBreaksNoAgent(t *testing.T) {
	for _, c := range []struct {
		agent agent
		file  string
		call  move
		args  []string
	}{
		{claude("197"), ".claude/settings.json", bash("echo x >>ticks"), []string{"--allowedTools", "Bash", "-p", "work"}},
		{claude("330"), ".claude/settings.json", bash("echo x >>ticks"), []string{"--allowedTools", "Bash", "-p", "work"}},
		{codex, ".codex/hooks.json", move{tool: "exec_command", args: object{"cmd": "echo x >>ticks"}}, []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "work"}},
		{gemini, ".gemini/settings.json", move{tool: "run_shell_command", args: object{"command": "echo x >>ticks"}}, []string{"-m", "gemini-2.5-flash", "--yolo", "-p", "work"}},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			agentPrograms(t)
			m := newModel(t, func(now turn) move {
				if len(now.done) > 0 {
					return move{say: "done"}
				}
				return c.call
			})
			home := t.TempDir()
			d := newDesk(t, c.agent, home, m.http.URL)
			tutti(t, home, "host", "setup", "--host", c.agent.host, "--no-server")
			program := strings.TrimSuffix(here.full, "-full")
			text := d.read(t, c.file)
			if !strings.Contains(text, program) {
				t.Fatal(text)
			}
			d.write(t, c.file, strings.ReplaceAll(text, program, filepath.Join(home, "deleted/tutti")))
			out := d.run(t, c.args...)
			if !strings.Contains(out, "done") {
				t.Errorf("got %s", out)
			}
			if raw, err := os.ReadFile(filepath.Join(d.work, "ticks")); err != nil || string(raw) != "x\n" {
				t.Errorf("the tool ran %q, %v", raw, err)
			}
		})
	}
}
