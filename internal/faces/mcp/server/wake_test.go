package server_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/test/progfile"
)

const talk = "0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c3d"

// hook has a hook of a program wait, and returns what comes of it.
func (r *rig) hook(event string) <-chan bool {
	out := make(chan bool, 1)
	ctx, stop := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(stop)
	go func() {
		c := wake.Caller{Place: wake.SocketDir{Home: r.home}, Host: "claude", Conversation: talk, Event: event}
		if err := wake.Tell(c); err != nil { // as the hook beside it does
			r.t.Errorf("hook: %v", err)
		}
		mail, err := wake.Wait(ctx, c, patience)
		if err != nil && r.t.Context().Err() == nil {
			r.t.Errorf("hook: %v", err)
		}
		out <- mail != ""
	}()
	return out
}

// waits waits for the end of a hook.
func (r *rig) ends(what string, hook <-chan bool, want bool) {
	r.t.Helper()
	select {
	case got := <-hook:
		if got != want {
			r.t.Errorf("%s: the hook ends with %v, want %v", what, got, want)
		}
	case <-time.After(patience):
		r.t.Fatalf("%s: the hook still waits", what)
	}
}

// oneWaits returns the hook that still waits when the newer of two has ended the older one. Which of them came first is seen by that only.
func (r *rig) oneWaits(a, b <-chan bool) <-chan bool {
	r.t.Helper()
	var got bool
	select {
	case got = <-a:
		a = b
	case got = <-b:
	case <-time.After(patience):
		r.t.Fatal("two hooks wait")
	}
	if got {
		r.t.Error("a newer hook waits: the older one ends with mail")
	}
	return a
}

func (r *rig) stays(what string, hook <-chan bool) {
	r.t.Helper()
	select {
	case got := <-hook:
		r.t.Errorf("%s: the hook ends with %v", what, got)
	case <-time.After(500 * time.Millisecond):
	}
}

// trail is what is on record of the mailbox of an agent.
func (r *rig) trail() string {
	r.t.Helper()
	names, _ := filepath.Glob(filepath.Join(r.root, "trail", "*"))
	var all []byte
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, raw...)
	}
	return string(all)
}

// recorded waits until something stands in the trail.
func (r *rig) recorded(what string) {
	r.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(r.trail(), what); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s does not stand in the trail:\n%s", what, r.trail())
		}
	}
}

// TestWakesByHook: mail for an idle agent ends the waiting hook, once for any amount of mail. The hook outlasts a halt, and mail after a
// halt wakes no agent before it was resumed.
func TestWakesByHook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, "CLAUDE_CODE_SESSION_ID="+talk)
	a.write(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	if hello := a.line(); !strings.Contains(hello, `"experimental":{"claude/channel":{}}`) {
		t.Errorf("the channel is not declared: %s", hello)
	}
	me := a.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	hook := r.oneWaits(r.hook("SessionStart"), r.hook("Stop"))
	for n := range 10 {
		b.ok("tutti_send", object{"to": me, "text": fmt.Sprint("message ", n)})
	}
	r.ends("there is mail", hook, true)
	if n := a.note("notifications/claude/channel"); !strings.Contains(n, wake.Sentence) || strings.Contains(n, "message") {
		t.Error(n)
	}
	next := r.hook("SessionStart") // the agent has not looked: it is not knocked again
	b.ok("tutti_send", object{"to": me, "text": "one more"})
	r.stays("the agent has not looked", next)
	a.ok("tutti_receive", nil)
	hook = r.hook("Stop")
	r.ends("a newer one waits", next, false)
	r.stays("everything was read", hook)
	r.run("halt", "a test")
	r.stays("halted", hook)
	r.run("resume")
	stayed := hook
	hook = r.hook("Stop")
	r.ends("a newer one waits", stayed, false)
	b.ok("tutti_send", object{"to": me, "text": "after the halt"})
	r.stays("not let go on", hook)
	a.ok("tutti_receive", nil)
	last := r.hook("Stop")
	r.ends("a newer one waits", hook, false)
	b.ok("tutti_send", object{"to": me, "text": "new"})
	r.ends("there is mail", last, true)
	// The first knock was about ten messages, or as many as were there by then, and both means stand with each.
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		trail := r.trail()
		n, m := strings.Count(trail, `"result":"channel"`), strings.Count(trail, `"result":"rewake"`)
		if n == m && n >= 2 && n <= 11 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d notifications and %d knocks on record:\n%s", n, m, trail)
		}
	}
	last = r.hook("Stop")
	r.stays("nothing happens", last)
	a.end(0)
	r.ends("the session is over", last, false)
}

// TestWakesTheLastActive: of two sessions of one agent, the one whose user wrote last is woken, even if neither calls a tool.
func TestWakesTheLastActive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.start("a", []string{"--auto-open", "--host", "claude"}, "CLAUDE_CODE_SESSION_ID="+talk)
	me := first.me()
	first.end(0)
	start := func(conversation string) *serverProcess {
		return r.start("a", []string{"--auto-open", "--host", "claude", "--instance", me}, "CLAUDE_CODE_SESSION_ID="+conversation)
	}
	const other = "11111111-7a0f-4e2b-9c55-0d6f3b1a2c3d"
	one, two := start(talk), start(other)
	one.me()
	if got := two.me(); got != me {
		t.Fatalf("two conversations in one folder are %s and %s", me, got)
	}
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	lately := func(conversation, other string) <-chan bool {
		t.Helper()
		hook := make(chan bool, 1)
		for _, c := range []string{other, conversation} {
			c := wake.Caller{Place: wake.SocketDir{Home: r.home}, Host: "claude", Conversation: c, Event: "Stop"}
			if err := wake.Tell(c); err != nil {
				t.Fatal(err)
			}
			go func() {
				mail, _ := wake.Wait(t.Context(), c, patience)
				if c.Conversation == conversation {
					hook <- mail != ""
				} else if mail != "" {
					t.Errorf("%s was woken, which was not active last", c.Conversation)
				}
			}()
			time.Sleep(300 * time.Millisecond) // much less than a heartbeat: what is active is written at once
		}
		return hook
	}
	for n, c := range [][2]string{{talk, other}, {other, talk}, {talk, other}} {
		hook := lately(c[0], c[1])
		b.ok("tutti_send", object{"to": me, "text": fmt.Sprint("message ", n)})
		r.ends("mail for "+c[0], hook, true)
		one.ok("tutti_receive", nil)
		two.ok("tutti_receive", nil)
	}
}

// TestWakesByQueue: the program's own queue gets the sentence, once, for the conversation that its calls name.
func TestWakesByQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\nprintf '%s\\n' \"$*\" >> " + calls + "\necho noise; echo noise >&2\n"
	if err := progfile.Write(filepath.Join(bin, "codex"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(r.home, ".config/tutti")
	os.MkdirAll(settings, 0o700)
	os.WriteFile(filepath.Join(settings, "config.toml"), []byte("[wake]\nquiet = \"1s\"\n"), 0o600)
	a := r.start("a", []string{"--auto-open", "--host", "codex"}, "PATH="+bin+":/usr/bin:/bin")
	me := a.me()
	a.write(`{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"name":"tutti_status","arguments":{},"_meta":{"threadId":"0199-a"}}}`)
	a.line()
	b := r.start("b", []string{"--auto-open", "--host", "claude"})
	b.me()
	for n := range 10 {
		b.ok("tutti_send", object{"to": me, "text": fmt.Sprint("message ", n)})
	}
	r.recorded(`"result":"queue"`)
	time.Sleep(time.Second) // for a second call that must not come
	raw, err := os.ReadFile(calls)
	if want := "queue --thread 0199-a --message " + wake.Sentence + "\n"; err != nil || string(raw) != want {
		t.Errorf("the program was called with %q, %v; want %q", raw, err, want)
	}
}

// TestWakesByCommand is the hook as programs call it: what others say in passing holds it back, and mail ends it with status 2.
func TestWakesByCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := []string{"CLAUDE_CODE_SESSION_ID=" + talk, "CLAUDE_CODE_ENTRYPOINT=cli"}
	hook := func(event string, more ...string) *exec.Cmd {
		c := r.command("tutti", append([]string{"hook", "claude", event}, more...), env...)
		c.Dir = filepath.Join(r.home, "a")
		c.Stdin = strings.NewReader(`{"hook_event_name":"` + event + `","session_id":"` + talk + `","cwd":"` + c.Dir + `"}`)
		return c
	}
	os.MkdirAll(filepath.Join(r.home, "a"), 0o700)
	alone := hook("Stop", "--wait")
	if out, err := alone.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("without a server: %v, %s", err, out)
	}
	log, _ := os.ReadFile(filepath.Join(r.home, ".local/state/tutti/hook.log"))
	if n := strings.Count(string(log), "\n"); n != 1 || !strings.Contains(string(log), "no server of this session") {
		t.Errorf("the log without a server: %q", log)
	}

	waiting := hook("SessionStart", "--wait") // before its server is there
	var said strings.Builder
	waiting.Stdout, waiting.Stderr = &said, &said
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, env...)
	me := a.me()
	if out, err := hook("UserPromptSubmit").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("a prompt: %v, %s", err, out)
	}
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	b.ok("tutti_send", object{"to": me, "text": "while it works"})
	ended := make(chan error, 1)
	go func() { ended <- waiting.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it was roused while it works: %v, %s", err, said.String())
	case <-time.After(time.Second):
	}
	if out, err := hook("PostToolUse").CombinedOutput(); err != nil || !strings.Contains(string(out), "while it works") {
		t.Errorf("after a tool: %v, %s", err, out)
	}
	if out, err := hook("Stop").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("at the end of the turn: %v, %s", err, out)
	}
	sent := time.Now()
	b.ok("tutti_send", object{"to": me, "text": "now that it is idle"})
	select {
	case err := <-ended:
		if waiting.ProcessState.ExitCode() != 2 || said.String() != wake.Sentence+"\n" {
			t.Errorf("it ends with %v and says %q", err, said.String())
		}
		t.Logf("roused after %v", time.Since(sent))
	case <-time.After(patience):
		t.Fatalf("it was not roused\n%s\n%s", a.errs, r.trail())
	}
}
