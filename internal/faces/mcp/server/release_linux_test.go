package server_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/hookmark"
	"tutti/internal/attention/wake"
	"tutti/internal/platform/proc"
)

// waitsThere waits until a hook process is connected to the server of its conversation.
func waitsThere(t *testing.T, c *exec.Cmd) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", c.Process.Pid)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all, _ := os.ReadDir(folder)
		for _, e := range all {
			if to, _ := os.Readlink(filepath.Join(folder, e.Name())); strings.HasPrefix(to, "socket:") {
				return
			}
		}
	}
	t.Fatal("a hook does not wait")
}

// TestResumeWakesTwelve: after "resume --wake" the waiting hooks of twelve conversations end within ten seconds, the size of a context is said
// where its file is known, and an agent of which no hook waits is named as not woken.
func TestResumeWakesTwelve(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const agents = 12
	var hooks []*exec.Cmd
	var names []string
	talkOf := func(n int) string { return fmt.Sprintf("0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c%02d", n) }
	for n := range agents + 1 {
		folder := fmt.Sprint("a", n)
		env := []string{"CLAUDE_CODE_SESSION_ID=" + talkOf(n), "CLAUDE_CODE_ENTRYPOINT=cli"}
		s := r.start(folder, []string{"--auto-open", "--host", "claude"}, env...)
		names = append(names, s.me())
		if n == agents {
			break // woken by mail and halted in the midst of its turn: none of its hooks waits
		}
		c := r.command("tutti", []string{"hook", "claude", "Stop", "--wait"}, env...)
		c.Dir = filepath.Join(r.home, folder)
		c.Stdin = strings.NewReader(`{"hook_event_name":"Stop","session_id":"` + talkOf(n) + `","cwd":"` + c.Dir + `"}`)
		c.Stderr = &bytes.Buffer{}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		hooks = append(hooks, c)
	}
	for _, c := range hooks {
		waitsThere(t, c)
	}
	// A hook of the first has noted the folder of its conversation. The hook process stands in for its agent CLI.
	id, err := proc.Of(hooks[0].Process.Pid)
	if err == nil {
		err = hookmark.Record(filepath.Join(r.home, ".local/state/tutti"), hookmark.Mark{
			PID: id.PID, Start: id.Start, Boot: id.Boot, CLI: "claude", Build: "b", Conversation: talkOf(0), Dir: "/srv/api",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	transcripts := filepath.Join(r.home, ".claude/projects/-srv-api")
	if err := os.MkdirAll(transcripts, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"isSidechain":false,"type":"assistant","message":{"model":"claude-opus-4-1","usage":{"input_tokens":6,"cache_creation_input_tokens":500,"cache_read_input_tokens":48000,"output_tokens":12}}}` + "\n"
	if err := os.WriteFile(filepath.Join(transcripts, talkOf(0)+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	r.run("halt", "a test")
	r.run("resume")
	ends := make(chan error, agents)
	for _, c := range hooks {
		go func() { ends <- c.Wait() }()
	}
	select {
	case err := <-ends:
		t.Fatalf("a hook ended at a plain resume: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	began := time.Now()
	out := r.run("resume", "--wake")
	late := time.After(10*time.Second - time.Since(began))
	for n := range hooks {
		select {
		case <-ends:
		case <-late:
			t.Fatalf("%d of %d agents go on within ten seconds:\n%s", n, agents, out)
		}
	}
	t.Logf("all go on after %v", time.Since(began))
	for n, c := range hooks {
		if c.ProcessState.ExitCode() != 2 || c.Stderr.(*bytes.Buffer).String() != wake.GoOn+"\n" { // it has no mail
			t.Errorf("hook %d ends with %v: %s", n, c.ProcessState, c.Stderr)
		}
		if !strings.Contains(out, "  "+names[n]+"  woken\n") {
			t.Errorf("%s is not said to be woken", names[n])
		}
	}
	if !strings.Contains(out, "  "+names[0]+"  about 49,000 tokens\n") || !strings.Contains(out, "  "+names[1]+"  size unknown\n") {
		t.Error("the sizes are not said")
	}
	if !strings.Contains(out, "  "+names[agents]+"  not woken: prompt it yourself; none of its hooks waits, and tutti can type nothing there\n") ||
		!strings.Contains(out, "1 of 13 could not be woken and will go on at the next prompt that you type there.") {
		t.Error("it is not said which agent was not woken")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestPausedIsNotWoken: mail does not wake a paused agent, whose prompt would be blocked and of which no hook would wait any more. The sender
// and unpause say so, and mail after the pause wakes it.
func TestPausedIsNotWoken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const talk = "0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c77"
	env := []string{"CLAUDE_CODE_SESSION_ID=" + talk, "CLAUDE_CODE_ENTRYPOINT=cli"}
	me := r.start("api", []string{"--auto-open", "--host", "claude"}, env...).me()
	c := r.command("tutti", []string{"hook", "claude", "Stop", "--wait"}, env...)
	c.Dir = filepath.Join(r.home, "api")
	c.Stdin = strings.NewReader(`{"hook_event_name":"Stop","session_id":"` + talk + `","cwd":"` + c.Dir + `"}`)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	waitsThere(t, c)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	r.run("pause", c.Dir)
	if out := r.run("send", me, "first"); !strings.Contains(out, "which is paused; it reads the message after the pause") {
		t.Errorf("send says %s", out)
	}
	select {
	case <-ended:
		t.Fatal("a paused agent was woken")
	case <-time.After(time.Second):
	}
	if out := r.run("unpause", c.Dir); !strings.Contains(out, "1 agent there has unread mail.") || !strings.Contains(out, "  "+me+"  1 unread") {
		t.Errorf("unpause says %s", out)
	}
	r.run("send", me, "second")
	select {
	case <-ended:
		if c.ProcessState.ExitCode() != 2 {
			t.Errorf("the hook ends with %v", c.ProcessState)
		}
	case <-time.After(patience):
		t.Error("mail after the pause does not wake it")
	}
}
