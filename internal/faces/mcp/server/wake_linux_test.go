package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/bus/mailbox"
	"tutti/internal/platform/proc"
)

// TestWakesAfterInterruptedTurn: no hook reports a turn that the user interrupts, but the program's own file does. Earlier writes, and
// those of another process, do not count.
func TestWakesAfterInterruptedTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	like := r.command("tutti-full", nil, "CLAUDE_CODE_SESSION_ID="+talk)
	c := exec.Command("/bin/sh", "-c", fmt.Sprintf("%s mcp-serve --auto-open --host claude; exit 0", filepath.Join(r.bin, "tutti-full")))
	c.Args[0], c.Env = "claude", like.Env
	a := r.serve("a", c)
	me := a.me()
	id, err := proc.Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	sheet := filepath.Join(r.home, ".claude/sessions", fmt.Sprint(id.PID, ".json"))
	if err := os.MkdirAll(filepath.Dir(sheet), 0o700); err != nil {
		t.Fatal(err)
	}
	says := func(status string, start uint64, at time.Time) {
		t.Helper()
		text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":%d}`, id.PID, start, status, at.UnixMilli())
		if err := os.WriteFile(sheet, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	says("idle", id.Start, time.Now().Add(-time.Second))
	hook := r.hook("SessionStart")
	word := wake.Caller{Place: wake.SocketDir{Home: r.home}, Host: "claude", Conversation: talk, Event: "UserPromptSubmit"}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // the bell hears the hook that waits first
		raw, err := filepath.Glob(filepath.Join(r.home, ".local/state/tutti/run/*"))
		if err == nil && len(raw) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("there is no bell")
		}
	}
	time.Sleep(200 * time.Millisecond)
	if err := wake.Tell(word); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	b.ok("tutti_send", object{"to": me, "text": "for an idle agent"})
	rests := func(what string) {
		t.Helper()
		select {
		case <-hook:
			t.Fatalf("%s: it was roused", what)
		case <-time.After(2200 * time.Millisecond): // it is looked every two seconds
		}
	}
	rests("what it wrote before its user said something")
	says("busy", id.Start, time.Now())
	rests("it works")
	says("idle", id.Start+1, time.Now())
	rests("another process wrote it")
	says("idle", id.Start, time.Now())
	r.ends("it was broken off", hook, true)
	if n := strings.Count(r.trail(), `"result":"rewake"`); n > 1 {
		t.Errorf("%d knocks", n)
	}
}

// TestWakesAfterKilledHook: a hook that has claimed a message and is killed before it prints does not keep it from an agent that sits idle.
func TestWakesAfterKilledHook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := []string{"CLAUDE_CODE_SESSION_ID=" + talk, "CLAUDE_CODE_ENTRYPOINT=cli"}
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, env...)
	me := a.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	event := func(name string) *exec.Cmd {
		c := r.command("tutti", []string{"hook", "claude", name}, env...)
		c.Dir = filepath.Join(r.home, "a")
		c.Stdin = strings.NewReader(`{"hook_event_name":"` + name + `","session_id":"` + talk + `","cwd":"` + c.Dir + `"}`)
		return c
	}
	if out, err := event("UserPromptSubmit").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("a prompt: %v, %s", err, out)
	}
	b.ok("tutti_send", object{"to": me, "text": "claimed and not printed"})
	full, keep := fullPipe(t)
	defer keep.Close()
	tool := event("PostToolUse")
	tool.Stdout = full
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	r.recorded(`"result":"hook"`) // it is right before it prints, and cannot
	if err := tool.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = tool.Wait()
	if strings.Contains(r.trail(), `"step":"shown"`) {
		t.Fatal("it counts as shown")
	}
	r.ages(mailbox.AgainAfter - 4*time.Second)
	if out, err := event("Stop").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the end of the turn, right after it: %v, %s", err, out)
	}
	hook := r.hook("Stop")
	r.stays("the claim holds", hook)
	r.ends("the claim has lapsed", hook, true)
	if out, err := event("UserPromptSubmit").CombinedOutput(); err != nil || !strings.Contains(string(out), "claimed and not printed") {
		t.Errorf("the prompt that follows: %v, %s", err, out)
	}
	if out, err := event("Stop").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the end of that turn: %v, %s", err, out)
	}
	if n := strings.Count(r.trail(), `"step":"shown"`); n != 1 {
		t.Errorf("it was shown %d times:\n%s", n, r.trail())
	}
}

// TestHookOutputClosed: the hook does not fail if the program has closed its output, and the text does not count as shown.
func TestHookOutputClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, "CLAUDE_CODE_SESSION_ID="+talk)
	me := a.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	b.ok("tutti_send", object{"to": me, "text": "into nothing"})
	gone, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_ = gone.Close()
	c := r.command("tutti", []string{"hook", "claude", "UserPromptSubmit"})
	c.Stdin = strings.NewReader(`{"hook_event_name":"UserPromptSubmit","session_id":"` + talk + `"}`)
	c.Stdout = out
	if err := c.Run(); err != nil {
		t.Errorf("the hook fails: %v", err)
	}
	log, _ := os.ReadFile(filepath.Join(r.home, ".local/state/tutti/hook.log"))
	if n := strings.Count(string(log), "\n"); n != 1 || !strings.Contains(string(log), "write the answer") {
		t.Errorf("the log: %q", log)
	}
	if strings.Contains(r.trail(), `"step":"shown"`) {
		t.Errorf("it counts as shown:\n%s", r.trail())
	}
}

// ages makes the last claim in the only trail older.
func (r *rig) ages(by time.Duration) {
	r.t.Helper()
	lines := strings.Split(strings.TrimSpace(r.trail()), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"step":"offered"`) })
	names, _ := filepath.Glob(filepath.Join(r.root, "trail", "claude*"))
	if at < 0 || len(names) != 1 {
		r.t.Fatalf("%d trails, %q", len(names), lines)
	}
	now := regexp.MustCompile(`"at":"[^"]*"`).FindString(lines[at])
	then := `"at":"` + time.Now().Add(-by).UTC().Format("2006-01-02T15:04:05.000Z") + `"`
	f, err := os.OpenFile(names[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Replace(lines[at], now, then, 1) + "\n"); err != nil {
		r.t.Fatal(err)
	}
}

// fullPipe is a pipe into which nothing goes any more; keep is the end at which nobody reads.
func fullPipe(t *testing.T) (full, keep *os.File) {
	t.Helper()
	keep, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { full.Close() })
	if err := full.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 4096); ; {
		if _, err := full.Write(chunk); err != nil {
			return full, keep
		}
	}
}
