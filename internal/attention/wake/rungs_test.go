package wake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/test/progfile"
)

// fake makes a program of a script, with the bad habits of real ones.
func fake(t *testing.T, script string) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codex")
	if err := progfile.Write(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return Program{Path: path, Env: []string{"CODEX_HOME=/tmp/a home"}}
}

const thread = "0199f1aa-7e0c-7c11-8fd4-5ec8a3a6b001"

func TestQueue(t *testing.T) {
	t.Parallel()
	codex, _ := driver.Get("codex")
	for name, c := range map[string]struct {
		script string
		id     string
		did    bool
		fault  string // "": none
	}{
		"it takes it":                         {script: `[ "$1 $2 $3 $4 $#" = "queue --thread ` + thread + ` --message 5" ] && [ "$5" = "` + Sentence + `" ] && [ "$CODEX_HOME" = "/tmp/a home" ] && ! read x`, id: thread, did: true},
		"no conversation is known":            {script: "exit 1", id: "", did: false},
		"an id that is an option":             {script: "exit 0", id: "--all", did: false},
		"it fails with words":                 {script: "printf '\\033[31merror:\\033[0m no such thread\\nmore\\n' >&2; exit 2", id: thread, did: true, fault: "codex: exit status 2: [31merror:[0m no such thread"},
		"it fails without a word":             {script: "exit 1", id: thread, did: true, fault: "codex: exit status 1"},
		"it talks for ever":                   {script: "yes | head -c 3000000; exit 3", id: thread, did: true, fault: "codex: exit status 3: y"},
		"a leftover process holds its output": {script: "sleep 30 & exit 0", id: thread, did: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fake(t, c.script+"\n")
			r := QueueRung(codex.Wake.Queue, func() (Program, error) { return p, nil }, func(context.Context) string { return c.id }, nil, Sentence)
			a := r.Try(t.Context())
			fault := ""
			if a.Err != nil {
				fault = a.Err.Error()
			}
			if a.Did != c.did || fault != c.fault || a.Counts != (c.did && c.fault == "") {
				t.Errorf("got %+v, want did %v and the fault %q", a, c.did, c.fault)
			}
		})
	}
}

// TestQueueHangs: a program that does not end is ended, with what it has started.
func TestQueueHangs(t *testing.T) {
	t.Parallel()
	codex, _ := driver.Get("codex")
	mark := filepath.Join(t.TempDir(), "child")
	p := fake(t, "sh -c 'echo $$ > "+mark+"; exec sleep 600' & wait\n")
	ctx, stop := context.WithCancelCause(t.Context())
	r := QueueRung(codex.Wake.Queue, func() (Program, error) { return p, nil }, func(context.Context) string { return thread }, nil, Sentence)
	out := make(chan Attempt, 1)
	go func() { out <- r.Try(ctx) }()
	var child []byte
	for end := time.Now().Add(time.Minute); len(child) == 0; time.Sleep(5 * time.Millisecond) {
		if child, _ = os.ReadFile(mark); time.Now().After(end) {
			t.Fatal("it did not begin")
		}
	}
	stop(errHalted)
	select {
	case a := <-out:
		if a.Err == nil || !strings.Contains(a.Err.Error(), errHalted.Error()) {
			t.Errorf("got %+v", a)
		}
	case <-time.After(queueLimit * 2 / 3): // the end of its time is no halt
		t.Fatal("it goes on")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(child)) + "/fd/0"); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("what it has started goes on")
		}
	}
}

func TestChannel(t *testing.T) {
	t.Parallel()
	claude, _ := driver.Get("claude")
	var sent string
	r := ChannelRung(claude.Wake.Channel, func(method string, params []byte) error {
		sent = method + " " + string(params)
		return nil
	}, Sentence)
	want := `notifications/claude/channel {"content":"You have mail. If it is not shown here, call tutti_receive.","meta":{}}`
	if a := r.Try(t.Context()); !a.Did || a.Counts || sent != want {
		t.Errorf("%+v, sent %s, want %s", a, sent, want)
	}
}

func TestAwait(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	claude, _ := driver.Get("claude")
	codex, _ := driver.Get("codex")
	p := newPost(t)
	env := map[string]string{"CLAUDE_CODE_SESSION_ID": talk, "CLAUDE_CODE_ENTRYPOINT": "cli"}
	p.place.Env = func(name string) string { return env[name] }
	began := time.Now()
	none := func(what string, d *driver.Driver, event, input string, fails bool) {
		t.Helper()
		a, err := Await(t.Context(), p.place, d, event, []byte(input))
		if (err != nil) != fails || a.Status != 0 || len(a.Err)+len(a.Out) > 0 {
			t.Errorf("%s: %+v, %v", what, a, err)
		}
	}
	none("no server", claude, "Stop", `{}`, true)
	none("no JSON", claude, "Stop", `x`, true)
	none("a program that cannot be woken so", codex, "Stop", `{}`, false)
	none("an event that does not wake", claude, "UserPromptSubmit", `{}`, false)
	env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
	none("one task", claude, "SessionStart", `{}`, false)
	env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
	if took := time.Since(began); took > startsWithin/3 { // none of them waits for a server
		t.Errorf("these took %v", took)
	}
	b := p.bell(talk)
	for _, say := range []string{Sentence, GoOn} {
		out := make(chan driver.Answer, 1)
		go func() {
			a, err := Await(t.Context(), p.place, claude, "Stop", []byte(`{"hook_event_name":"Stop","session_id":"`+talk+`"}`))
			if err != nil {
				t.Error(err)
			}
			out <- a
		}()
		p.word(Word{Conversation: talk, Event: "Stop", Waits: true})
		b.Ring(t.Context(), say)
		if a := <-out; a.Status != 2 || string(a.Err) != say+"\n" || len(a.Out) > 0 {
			t.Errorf("%+v", a)
		}
	}
}

// TestDesktopWake: where there is no desktop nothing was done; a notice that was not taken is a fault, and no knock.
func TestDesktopWake(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	for _, c := range []struct {
		told bool
		err  error
		want Attempt
	}{
		{true, nil, Attempt{Did: true, Counts: true}},
		{false, nil, Attempt{Counts: true}},
		{true, broken, Attempt{Did: true, Counts: true, Err: broken}},
	} {
		r := DesktopRung(func(context.Context) (bool, error) { return c.told, c.err })
		if got := r.Try(t.Context()); r.Name != Desktop || got != c.want {
			t.Errorf("told %v, %v: %s %+v, want %+v", c.told, c.err, r.Name, got, c.want)
		}
	}
}
