package server_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// steps are the lines of the trails that name a message and a step.
func (r *rig) steps(id, step string) (n int) {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.root, "trail", "*.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, id) && strings.Contains(line, `"step":"`+step+`"`) {
				n++
			}
		}
	}
	return n
}

// TestShownOnlyIfWritten: mail whose answer cannot be written is offered, and was not shown.
func TestShownOnlyIfWritten(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	b.end(0)
	id := a.ok("tutti_send", object{"to": you, "text": "hello"}).str("id")
	c := r.command("tutti-full", []string{"mcp-serve", "--auto-open", "--host", "codex"})
	c.Dir = b.cmd.Dir
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tutti_receive","arguments":{}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = c.Process.Kill()
		t.Fatal("the server does not end")
	}
	if offered, shown := r.steps(id, "offered"), r.steps(id, "shown"); offered != 1 || shown != 0 {
		t.Errorf("offered %d times and shown %d times, want 1 and 0", offered, shown)
	}
}

// TestShownWithoutRecord: a claimed message is shown even if that cannot be recorded.
func TestShownWithoutRecord(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you, me := b.me(), a.me()
	lock := filepath.Join(r.home, ".local/state/tutti/.pins.lock") // in the way: no key can be pinned
	if err := os.RemoveAll(lock); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	a.ok("tutti_send", object{"to": you, "text": "one"})
	got := b.call("tutti_receive", nil)
	if all := got.list("messages"); len(all) != 1 || all[0].str("text") != "one" {
		t.Errorf("received %v", got)
	}
	id := a.ok("tutti_send", object{"to": you, "text": "two"}).str("id")
	got = b.call("h2a_inbox", object{"action": "pop", "instance": you, "envelopeId": id})
	if got["envelope"] == nil {
		t.Errorf("popped %v", got)
	}
	go func() {
		for range 100 {
			if got := a.call("tutti_receive", object{"wait": 10}).list("messages"); len(got) > 0 {
				a.call("tutti_reply", object{"id": got[0].str("id"), "text": "42"})
				return
			}
		}
	}()
	sent := b.call("tutti_send", object{"to": me, "text": "what is it?", "wait": 20})
	if answer, _ := sent["answer"].(map[string]any); answer["text"] != "42" {
		t.Errorf("answered %v", sent)
	}
}

// TestHaltClearedNotice: the remark that a halt was cleared waits for an answer that reaches the agent.
func TestHaltClearedNotice(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	a.me()
	r.run("halt", "a test", "--no-stop-watcher")
	r.run("resume", "--no-start-watcher")
	b.write(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"tutti_receive","arguments":{"wait":50},"_meta":{"progressToken":"p"}}}`)
	b.note("notifications/progress")
	b.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	for n, want := range []bool{true, false} {
		if got := b.ok("tutti_receive", nil); (got["haltCleared"] != nil) != want {
			t.Errorf("answer %d of %s: %v, want the remark: %v", n, you, got, want)
		}
	}
}

// TestBorrowedSignature: an envelope that brings a signature which is not that of its actor is refused, so that nothing is
// stored in a name without its key.
func TestBorrowedSignature(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	me, you := a.me(), b.me()
	forged := []object{{"by": me, "alg": "ed25519", "value": "AAAA"}}
	put := func(from string, signatures []object) object {
		e := object{
			"protocol": "sentropic.h2a", "version": "0.1", "id": fmt.Sprintf("env:%s:%d", from, len(signatures)), "type": "event",
			"actor": object{"instance": from, "role": "AGENTS", "scope": "scope:default"},
			"body":  object{"kind": "message", "text": "hello"}, "createdAt": "2026-06-20T10:00:00.000Z",
		}
		if signatures != nil {
			e["signatures"] = signatures
		}
		return object{"action": "put", "instance": you, "envelope": e}
	}
	a.refused("signature", "h2a_inbox", put(me, forged))
	c := r.start("c", nil)
	const none = "claude:nokey:0123456789ab"
	c.ok("h2a_session_open", object{"instance": none})
	c.refused("no key", "h2a_inbox", put(none, nil))
	c.refused("no key", "h2a_inbox", put(none, []object{{"by": none, "alg": "ed25519", "value": "AAAA"}}))
	if got := b.ok("tutti_receive", nil).list("messages"); len(got) != 0 {
		t.Errorf("stored: %v", got)
	}
	a.ok("h2a_inbox", put(me, nil))
	stored := b.ok("h2a_inbox", object{"action": "read", "instance": you})["envelopes"].([]any)
	if len(stored) != 1 {
		t.Fatalf("stored: %v", stored)
	}
	// What it has signed itself goes on to another mailbox as it is.
	if got := a.ok("h2a_inbox", object{"action": "put", "instance": me, "envelope": stored[0]}); got["ok"] != true {
		t.Errorf("its own signature: %v", got)
	}
}

// TestSessionTooLongToShow: a session whose record no answer takes is open, and the answer says so.
func TestSessionTooLongToShow(t *testing.T) {
	t.Parallel()
	_, a, _ := pair(t)
	var scopes []string
	for n := range 600 {
		scopes = append(scopes, fmt.Sprintf("scope:a-very-long-name-%04d", n))
	}
	me := a.me()
	a.ok("h2a_session_open", object{"instance": me, "sessionId": "sess:long", "interests": object{"scopes": scopes}})
	if got := a.ok("h2a_session_close", object{"sessionId": "sess:long"}); got["sessionId"] != "sess:long" {
		t.Errorf("closed: %v", got)
	}
}

// TestSilentBeforeHello: pushes that wait for the client's first message are dropped if a halt comes first.
func TestSilentBeforeHello(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	b.end(0)
	a.ok("tutti_send", object{"to": you, "text": "hello"})
	b = r.start("b", []string{"--auto-open", "--host", "codex"})
	late := time.Now().Add(patience)
	for len(r.presence()) < 2 { // so it is connected, and its backlog known
		if time.Now().After(late) {
			t.Fatal("it does not connect")
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	r.run("halt", "a test", "--no-stop-watcher")
	b.write(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	b.line()
	b.me()
	b.end(0)
	if n := len(b.notes); n > 0 {
		t.Errorf("%d pushes under halt, first %s", n, <-b.notes)
	}
}
