//go:build e2e

package e2etest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/codexserver"
	"tutti/internal/platform/proc"
)

// What is tried here are dialogs that are answered from elsewhere, by the way that each agent CLI has for that.

// approving sits at a program that asks before it runs a command, which makes the file that is returned.
func approving(t *testing.T, a agent, ask func(file string) move) (s *sitting, file func(n string) string) {
	t.Helper()
	s = sitBefore(t, a, func(now turn) move {
		raw := string(now.raw)
		for _, n := range []string{"three", "two", "one"} { // the newest prompt is the last
			if strings.Contains(raw, "make "+n) && len(now.done) < map[string]int{"one": 1, "two": 2, "three": 3}[n] {
				return ask(n)
			}
			if strings.Contains(raw, "make "+n) {
				break
			}
		}
		return move{say: "done"}
	}, nil)
	return s, func(n string) string { return filepath.Join(s.d.work, n) }
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestCodexApprovals: a second client on the background server sees what Codex asks, and its answer closes the dialog. It also sees that the
// user has answered.
func TestCodexApprovals(t *testing.T) {
	a := screenCodex(t)
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n"))
	}
	s, file := approving(t, a, func(n string) move {
		return move{tool: "exec_command", args: object{"cmd": "touch " + n, "sandbox_permissions": "require_escalated", "justification": "May I?"}}
	})
	s.stopsServer()
	s.trusts()
	s.begins()
	s.rests()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	asks := func(n string) (*codexserver.Attached, codexserver.Request) {
		s.keys("send-keys", "-l", "make "+n)
		s.until("it is typed", func() bool { return s.shows("make " + n) })
		s.press("Enter", func() bool { return s.asked("make " + n) })
		s.until("the dialog is open", func() bool { return s.shows("May I?") && s.shows("Yes, proceed") })
		began := time.Now()
		locks, _ := filepath.Glob(filepath.Join(s.d.home, ".codex/thread-writer-locks/*.lock"))
		if len(locks) == 0 {
			t.Fatal("no thread is open")
		}
		slices.Sort(locks)
		thread := strings.TrimSuffix(filepath.Base(locks[len(locks)-1]), ".lock")
		c, err := codexserver.Attach(ctx, codexserver.Socket(filepath.Join(s.d.home, ".codex")), thread)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		r, answered, err := c.Next(ctx)
		if err != nil || answered || r.Tool != "Bash" || !strings.Contains(r.Command, "touch "+n) {
			t.Fatalf("%+v %v %v", r, answered, err)
		}
		t.Logf("MEASURED codex: seen %v after attaching: %+v", time.Since(began).Round(time.Millisecond), r)
		return c, r
	}
	over := func(c *codexserver.Attached) {
		if _, answered, err := c.Next(ctx); err != nil || !answered {
			t.Errorf("the request is not over: %v", err)
		}
		s.until("the dialog is closed", func() bool { return !s.shows("Yes, proceed") })
		s.rests()
	}

	c, r := asks("one")
	began := time.Now()
	if err := c.Answer(r, true); err != nil {
		t.Fatal(err)
	}
	s.until("the tool has run", func() bool { return there(file("one")) })
	t.Logf("MEASURED codex: the tool ran %v after the approval", time.Since(began).Round(time.Millisecond))
	over(c)

	c, r = asks("two")
	if err := c.Answer(r, false); err != nil {
		t.Fatal(err)
	}
	over(c)
	if there(file("two")) {
		t.Error("the tool ran although it was denied")
	}

	c, r = asks("three")
	s.keys("send-keys", "y")
	over(c)
	s.until("the tool has run", func() bool { return there(file("three")) })
	if c.Answer(r, false) == nil {
		t.Error("a late answer was taken")
	}
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

// TestOpencodeTakesAnswers: what a waiting hook answers closes the dialog.
func TestOpencodeTakesAnswers(t *testing.T) {
	var home string
	a := screenOpencode()
	usual := a.setUp
	a.setUp = func(t *testing.T, d desk) {
		usual(t, d)
		home = d.home
		d.write(t, ".config/opencode/opencode.json", strings.Replace(d.read(t, ".config/opencode/opencode.json"), "{", `{"permission":{"bash":"ask"},`, 1))
		tutti(t, d.home, "host", "setup", "--host", "opencode", "--no-server")
		plugin := d.read(t, ".config/opencode/plugin/tutti.js")
		from := strings.Index(plugin, "const PROGRAM = ")
		to := from + strings.Index(plugin[from:], "\n")
		d.write(t, "stand-in", "#!/bin/sh\n[ \"$3\" = PermissionRequest ] || exit 0\ncat >"+d.home+"/asked\nuntil [ -s "+d.home+"/answer ]; do sleep 0.1; done\ncat "+d.home+"/answer; rm "+d.home+"/answer\n")
		if err := os.Chmod(filepath.Join(d.home, "stand-in"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.write(t, ".config/opencode/plugin/stand-in.js", plugin[:from]+`const PROGRAM = "`+d.home+`/stand-in"`+plugin[to:])
	}
	s, file := approving(t, a, func(n string) move {
		return move{tool: "bash", args: object{"command": "touch " + n, "description": "make it"}}
	})
	for _, one := range []struct {
		n, answer string
		runs      bool
	}{
		{"one", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, true},
		{"two", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`, false},
	} {
		_ = os.Remove(filepath.Join(home, "asked"))
		s.types("make " + one.n)
		s.until("the dialog is open", func() bool { return s.shows("Permission required") && there(filepath.Join(home, "asked")) })
		if q := s.d.read(t, "asked"); !strings.Contains(q, `"command":"touch `+one.n) || !strings.Contains(q, `"tool_name":"bash"`) {
			t.Errorf("the hook was asked %s", q)
		}
		began := time.Now()
		s.d.write(t, "answer", one.answer)
		s.until("the dialog is closed", func() bool { return !s.shows("Permission required") })
		t.Logf("MEASURED opencode: closed %v after the answer", time.Since(began).Round(10*time.Millisecond))
		s.rests()
		if there(file(one.n)) != one.runs {
			t.Errorf("%s: the tool ran: %v", one.n, !one.runs)
		}
	}
}
