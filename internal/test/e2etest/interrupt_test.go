//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHaltInterruptsCodex: a Codex with its background server, in the middle of a long command, stops after a halt, and the command has
// ended.
func TestHaltInterruptsCodex(t *testing.T) {
	var ticks, pid string
	s := sitBefore(t, screenCodex(t), func(now turn) move {
		if !strings.Contains(string(now.raw), "loop on") {
			return move{say: "done"}
		}
		return move{tool: "exec_command", args: object{"cmd": fmt.Sprintf("echo $$ >%s; echo x >>%s; sleep 120; echo y >>%s", pid, ticks, ticks)}}
	}, nil)
	ticks, pid = filepath.Join(s.d.home, "ticks"), filepath.Join(s.d.home, "pid")
	s.trusts()
	s.begins()
	s.rests()
	s.keys("send-keys", "-l", "loop on")
	time.Sleep(time.Second)
	s.press("Enter", func() bool { return s.asked("loop on") })
	var shell string
	s.until("the command runs", func() bool {
		raw, err := os.ReadFile(pid)
		shell = strings.TrimSpace(string(raw))
		return err == nil && shell != ""
	})
	began := time.Now()
	out := string(tutti(t, s.d.home, "halt", "--no-stop-watcher", "runaway loop"))
	reported := time.Since(began)
	if !strings.Contains(out, "its turn was interrupted") || strings.Contains(out, "not interrupted") {
		t.Errorf("the halt says %s", out)
	}
	s.until("the command has ended", func() bool {
		_, err := os.Stat("/proc/" + shell)
		return err != nil
	})
	t.Logf("MEASURED codex: report after %v, command ended after %v: %s", reported, time.Since(began), out)
	n := len(s.m.seen())
	s.rests()
	if more := len(s.m.seen()) - n; more > 1 {
		t.Errorf("%d further requests", more)
	}
	out = string(tutti(t, s.d.home, "halt", "--kill", "--yes", "--no-stop-watcher"))
	if !strings.Contains(out, "Ended Codex, pid") || !strings.Contains(out, "Ended Codex background server") || strings.Contains(out, "Not ended") {
		t.Errorf("the kill says %s", out)
	}
	tutti(t, s.d.home, "resume")
}
