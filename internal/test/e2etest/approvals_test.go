//go:build e2e

package e2etest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
)

// What is tried here are dialogs that are answered from elsewhere, by the way that each agent CLI has for that.

// approving sits at a program that asks before it runs a command, which makes the file that is returned.
func approving(t *testing.T, a agent, ask func(file string) move, args ...string) (s *sitting, file func(n string) string) {
	t.Helper()
	s = sitBefore(t, a, func(now turn) move {
		raw := string(now.raw)
		for before, n := range slices.Backward([]string{"one", "two", "three", "four", "five", "six"}) { // the newest prompt is the last
			if strings.Contains(raw, "make "+n) {
				if len(now.done) <= before {
					return ask(n)
				}
				break
			}
		}
		return move{say: "done"}
	}, nil, args...)
	return s, func(n string) string { return filepath.Join(s.d.work, n) }
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// askingCodex sits at a Codex that asks before each command and, at the third prompt, before a tool of an MCP server.
func askingCodex(t *testing.T, args ...string) (s *sitting, file func(n string) string) {
	a := screenCodex(t)
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n")+
			"[mcp_servers.other]\ncommand = \""+here.full+"\"\nargs = [\"mcp-serve\"]\ndefault_tools_approval_mode = \"prompt\"\n")
	}
	return approving(t, a, func(n string) move {
		if n == "three" {
			return move{tool: strings.Replace(codex.tool("tutti_send"), "tutti", "other", 1), args: object{"to": "claude:nobody", "text": "x"}}
		}
		return move{tool: "exec_command", args: object{"cmd": "touch " + n, "sandbox_permissions": "require_escalated", "justification": "May I?"}}
	}, args...)
}

// The dialogs of Codex.
const (
	mayRun  = "Yes, proceed"
	mayCall = "Allow the other MCP server"
)

// opens types a prompt, and waits until its dialog is open.
func (s *sitting) opens(n, dialog string) {
	s.t.Helper()
	s.keys("send-keys", "-l", "make "+n)
	s.until("it is typed", func() bool { return s.shows("make " + n) })
	s.press("Enter", func() bool { return s.asked("make " + n) })
	s.until("the dialog is open", func() bool { return s.shows(dialog) })
}

// detached are the processes that hooks have left behind.
func (s *sitting) detached() (all []int) {
	for _, p := range proc.WithEnv("HOME", s.d.home) {
		if args, _ := proc.Cmdline(p.PID); slices.Contains(args, "__approval") {
			all = append(all, p.PID)
		}
	}
	return all
}

// TestCodexTakesAnswers: tutti approve and tutti deny close the dialog of a Codex with its background server, an answer at the dialog takes the
// request away, a pause denies, and a waiting process that was killed approves nothing.
func TestCodexTakesAnswers(t *testing.T) {
	s, file := askingCodex(t)
	s.stopsServer()
	s.trusts()
	s.begins()
	s.rests()
	asks := func(n, dialog string) (id string) {
		s.opens(n, dialog)
		began := time.Now()
		s.until("it is listed", func() bool { id = waits(t, s.d.home); return id != "" })
		t.Logf("MEASURED codex: listed %v after its dialog was open", time.Since(began).Round(10*time.Millisecond))
		return id
	}
	over := func(dialog string) {
		s.until("the dialog is closed", func() bool { return !s.shows(dialog) })
		s.until("nothing is listed", func() bool { return waits(t, s.d.home) == "" })
		s.rests()
	}
	for _, one := range []struct {
		n, dialog, verb, about string
		runs                   func() bool
	}{
		{"one", mayRun, "approve", "touch one", func() bool { return there(file("one")) }},
		{"two", mayRun, "deny", "touch two", func() bool { return !there(file("two")) }},
		{"three", mayCall, "approve", "mcp__other__tutti_send", func() bool { return s.says("is here, live or registered") }},
	} {
		id, began := asks(one.n, one.dialog), time.Now()
		if said := string(tutti(t, s.d.home, one.verb, id)); !strings.HasPrefix(said, "done: ") || !strings.Contains(said, one.about) {
			t.Errorf("%s says %q", one.verb, said)
		}
		t.Logf("MEASURED codex, %s: done after %v", one.verb, time.Since(began).Round(10*time.Millisecond))
		over(one.dialog)
		if !one.runs() {
			t.Errorf("%s %s: Codex has done otherwise", one.verb, one.about)
		}
	}

	asks("four", mayRun)
	s.keys("send-keys", "y") // at the dialog
	s.until("the tool has run", func() bool { return there(file("four")) })
	over(mayRun)
	if kept := string(tutti(t, s.d.home, "approve", "--decisions")); strings.Count(kept, "\n") != 3 || !strings.Contains(kept, "touch one") {
		t.Errorf("the decisions: %q", kept)
	}
	s.until("the waiting processes have ended", func() bool { return len(s.detached()) == 0 })

	asks("five", mayRun) // a pause denies
	tutti(t, s.d.home, "pause", s.d.work, "disk check")
	over(mayRun)
	tutti(t, s.d.home, "unpause", s.d.work)
	if there(file("five")) {
		t.Error("the tool ran although it was paused")
	}
	s.until("the waiting processes have ended", func() bool { return len(s.detached()) == 0 })

	asks("six", mayRun)
	for _, pid := range s.detached() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.until("nothing is listed", func() bool { return waits(t, s.d.home) == "" })
	if !s.shows(mayRun) || there(file("six")) {
		t.Error("the dialog was answered")
	}
	s.keys("send-keys", "Escape")
	over(mayRun)
	if there(file("six")) {
		t.Error("the tool ran")
	}
}

// TestCodexAsksInOneProcess: a Codex without its background server asks at its dialog only, and no process stays behind.
func TestCodexAsksInOneProcess(t *testing.T) {
	s, file := askingCodex(t, "--no-daemon", "--dangerously-bypass-hook-trust")
	s.begins()
	s.rests()
	s.opens("one", mayRun) // its hook has ended then
	s.until("no process waits", func() bool { return len(s.detached()) == 0 })
	if id := waits(t, s.d.home); id != "" || there(file("one")) {
		t.Errorf("%s is listed, or the tool ran", id)
	}
	s.keys("send-keys", "y")
	s.until("the tool has run", func() bool { return there(file("one")) })
	s.rests()
}

// TestOpencodeApprovals: the hook waits beside the dialog, its answer closes the dialog, and it ends when the user has answered. A program that
// answers from a file is in the place of tutti for this one event.
func TestOpencodeApprovals(t *testing.T) {
	a := screenOpencode()
	usual := a.setUp
	a.setUp = func(t *testing.T, d desk) {
		usual(t, d)
		d.write(t, ".config/opencode/opencode.json", strings.Replace(d.read(t, ".config/opencode/opencode.json"), "{", `{"permission":{"bash":"ask"},`, 1))
	}
	s, file := approving(t, a, func(n string) move {
		return move{tool: "bash", args: object{"command": "touch " + n, "description": "make it"}}
	})
	beside := func() (found bool) {
		for _, p := range proc.WithEnv("HOME", s.d.home) {
			args, _ := proc.Cmdline(p.PID)
			found = found || slices.Contains(args, "PermissionRequest")
		}
		return found
	}
	asks := func(n string) {
		s.types("make " + n)
		s.until("the dialog is open", func() bool { return s.shows("Permission required") })
		s.until("a hook waits beside it", beside)
	}
	over := func() {
		s.until("the dialog is closed", func() bool { return !s.shows("Permission required") })
		s.until("the hook has ended", func() bool { return !beside() })
		s.rests()
	}

	asks("one") // answered at the dialog
	s.press("Enter", func() bool { return !s.shows("Permission required") })
	s.until("the tool has run", func() bool { return there(file("one")) })
	over()

	asks("two") // a pause denies
	tutti(t, s.d.home, "pause", s.d.work, "disk check")
	over()
	tutti(t, s.d.home, "unpause", s.d.work)

	asks("three") // a halt denies
	tutti(t, s.d.home, "halt", "--no-stop-watcher", "disk check")
	over()
	if there(file("two")) || there(file("three")) {
		t.Error("a tool ran although it was paused or halted")
	}
}

// waits returns the id of the one request that "tutti approve" lists.
func waits(t *testing.T, home string) string {
	t.Helper()
	var all []struct{ ID, About string }
	if err := json.Unmarshal(tutti(t, home, "approve", "--json"), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		return ""
	}
	return all[0].ID
}

// showsChange checks that the list has the one line that an agent asks to write.
func showsChange(t *testing.T, home, about string) {
	t.Helper()
	if list := string(tutti(t, home, "approve")); !strings.Contains(list, about) || !strings.Contains(list, "    +hello\n") {
		t.Errorf("the list does not show what is written: %q", list)
	}
}

// TestOpencodeTakesAnswers: tutti approve and tutti deny close the dialog.
func TestOpencodeTakesAnswers(t *testing.T) {
	var home string
	a := screenOpencode()
	usual := a.setUp
	a.setUp = func(t *testing.T, d desk) {
		usual(t, d)
		home = d.home
		d.write(t, ".config/opencode/opencode.json", strings.Replace(d.read(t, ".config/opencode/opencode.json"), "{", `{"permission":{"bash":"ask","edit":"ask"},`, 1))
		tutti(t, d.home, "host", "setup", "--host", "opencode", "--no-server")
	}
	s, file := approving(t, a, func(n string) move {
		if n == "three" {
			return move{tool: "write", args: object{"filePath": n, "content": "hello\n"}}
		}
		return move{tool: "bash", args: object{"command": "touch " + n, "description": "make it"}}
	})
	for _, one := range []struct {
		n, verb string
		runs    bool
	}{{"one", "approve", true}, {"two", "deny", false}, {"three", "deny", false}} {
		s.types("make " + one.n)
		var id string
		s.until("the dialog is open, and listed", func() bool { id = waits(t, home); return s.shows("Permission required") && id != "" })
		if one.n == "three" {
			showsChange(t, home, "three (+1 -0)")
		}
		began := time.Now()
		if said := string(tutti(t, home, one.verb, id)); !strings.HasPrefix(said, "done: ") {
			t.Errorf("%s says %q", one.verb, said)
		}
		s.until("the dialog is closed", func() bool { return !s.shows("Permission required") })
		t.Logf("MEASURED opencode, %s: closed %v after the answer", one.verb, time.Since(began).Round(10*time.Millisecond))
		s.rests()
		if there(file(one.n)) != one.runs {
			t.Errorf("%s: the tool ran: %v", one.n, !one.runs)
		}
	}
}

// TestClaudeTakesAnswers: tutti approve and tutti deny close the dialog of Claude Code, and an answer at the dialog takes the request away.
func TestClaudeTakesAnswers(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := &loop{}
			s := haltable(t, seated(version), l, []string{"--permission-mode", "default"})
			asks := func() bool { return s.look().Doing == driver.Asking }
			next := func(f func() move) {
				l.mu.Lock()
				l.next = f
				l.mu.Unlock()
			}
			opens := func(m move) (id string) {
				began := time.Now()
				next(func() move { return m })
				s.tell("loop on", "it asks", asks)
				shown := time.Now()
				s.until("the request is listed", func() bool { id = waits(t, s.d.home); return id != "" })
				t.Logf("MEASURED claude 2.1.%s: dialog after %v, listed %v later", version, shown.Sub(began).Round(10*time.Millisecond), time.Since(shown).Round(10*time.Millisecond))
				next(nil)
				return id
			}
			answered := func(name, verb string, runs bool) {
				id, began := opens(bash("touch "+name)), time.Now()
				if said := string(tutti(t, s.d.home, verb, id)); !strings.HasPrefix(said, "done: ") || !strings.Contains(said, "touch "+name) {
					t.Errorf("%s says %q", verb, said)
				}
				t.Logf("MEASURED claude 2.1.%s, %s: done after %v", version, verb, time.Since(began).Round(10*time.Millisecond))
				s.until("the dialog is closed", func() bool { return !asks() })
				s.shows("it rests", driver.Seen.Free)
				if there(filepath.Join(s.d.work, name)) != runs {
					t.Errorf("%s: the tool ran: %v", name, !runs)
				}
			}
			answered("approved", "approve", true)
			answered("denied", "deny", false)

			opens(bash("touch escaped"))
			s.keys("send-keys", "-t", "=first:", "Escape")
			s.shows("it rests", driver.Seen.Free)
			s.until("the request is gone", func() bool { return waits(t, s.d.home) == "" })
			if there(filepath.Join(s.d.work, "escaped")) {
				t.Error("the tool ran")
			}
			if kept := string(tutti(t, s.d.home, "approve", "--decisions")); strings.Count(kept, "\n") != 2 || !strings.Contains(kept, "touch approved") {
				t.Errorf("the decisions: %q", kept)
			}

			file := filepath.Join(s.d.work, "written")
			id := opens(move{tool: "Write", args: object{"file_path": file, "content": "hello\n"}})
			showsChange(t, s.d.home, "written (+1 -0)")
			tutti(t, s.d.home, "approve", id)
			s.until("the file is written", func() bool { return there(file) })
		})
	}
}
