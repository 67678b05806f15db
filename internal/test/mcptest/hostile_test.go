package mcptest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/foreigntest"
)

// TestLongThread: a thread of any length, which a peer chose, does not keep a message that was answered from being reported
// as that; and one's own is refused before anything is sent.
func TestLongThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, bob := a.me(), b.me()
	m := message("env:1:long", bob, ana)
	m["threadId"] = strings.Repeat("t", 100<<10)
	if err := (&foreigntest.Program{Root: r.root}).Put(ana, "env:1:long", m); err != nil {
		t.Fatal(err)
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 1 {
		t.Fatalf("received %v", got)
	}
	a.ok("tutti_send", object{"to": bob, "text": "one", "replyTo": "env:1:long"})
	if got := a.ok("tutti_reply", object{"id": "env:1:long", "text": "two"}); got.object["acknowledged"] != true {
		t.Errorf("reply: %v", got.object)
	}
	for _, args := range []object{
		{"to": bob, "text": "three", "thread": m["threadId"]},
		{"to": bob, "text": "three", "replyTo": m["threadId"]},
	} {
		if got := a.call("tutti_send", args); !strings.Contains(got.failed(), "none has more than") {
			t.Errorf("send: %v", got.object)
		}
	}
	if got := b.ok("tutti_receive", nil).list("messages"); len(got) != 2 {
		t.Errorf("%d messages arrived, want the two that were reported as sent", len(got))
	}
}

// TestHostileNames: files with invalid names of messages and sessions hide no other event, as long as they exist and whenever another one
// appears.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana := a.me()
	f := newField(t, r.root, ana)
	f.plant()
	for n := range 20 {
		for _, dir := range f.folders {
			path := fmt.Sprintf("%s/%d%s.json", dir, n, names[n%len(names)])
			if err := f.thing(path); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		id := b.ok("tutti_send", object{"to": ana, "text": fmt.Sprint(n)}).str("id")
		eventually(t, "the message is pushed", func() bool { return a.arrived(id) == 1 })
		if took := time.Since(began); took > 10*time.Second { // with the next heartbeat it would come as well
			t.Errorf("message %d was pushed after %v", n, took)
		}
	}
	c := r.start("gemini", "c")
	eventually(t, "the join is reported", func() bool { return a.about("presence.peer_joined", c.session()) == 1 })
	if text := a.errs.String(); strings.Contains(text, "gets no notices") {
		t.Errorf("the watch failed: %s", tail(text))
	}
	f.check()
}
