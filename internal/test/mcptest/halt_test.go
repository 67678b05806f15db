package mcptest

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHaltInHand: calls that wait are answered as soon as the switch is on. One of them has sent its message before, and says
// so beside the word that it does not wait any more.
func TestHaltInHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	bob := b.me()
	best := time.Hour
	for range 5 {
		b.ok("tutti_receive", nil)
		receives, sends := b.ask("tutti_receive", object{"wait": 30}), a.ask("tutti_send", object{"to": "codex:nobody", "text": "x", "wait": 30})
		if got := a.get(sends, "tutti_send", nil); got.failed() == "" {
			t.Fatalf("a message to an unknown recipient: %v", got.object)
		}
		// It is shown to the one who waits, which takes it in hand; then both wait.
		sends = a.ask("tutti_send", object{"to": bob, "text": "question", "wait": 30})
		if got := b.get(receives, "tutti_receive", nil); len(got.list("messages")) != 1 {
			t.Fatalf("received %v", got.object)
		}
		receives = b.ask("tutti_receive", object{"wait": 30})
		b.ok("tutti_status", nil) // which comes after it
		a.ok("tutti_status", nil)
		time.Sleep(50 * time.Millisecond)

		at := r.raise()
		received := b.get(receives, "tutti_receive", nil)
		sent := a.get(sends, "tutti_send", nil)
		took := time.Since(at)
		best = min(best, took)
		if !strings.HasPrefix(received.failed(), "halt active") {
			t.Errorf("receive: %v", received.object)
		}
		if waited := sent.str("waited"); sent.failed() != "" || sent.str("id") == "" || !strings.HasPrefix(waited, "halt active") {
			t.Errorf("send: %v", sent.object)
		}
		for _, refused := range []answer{
			a.call("tutti_send", object{"to": bob, "text": "x"}), a.call("tutti_receive", object{"wait": 30}), a.call("tutti_reply", object{"id": "x", "text": "x"}),
			a.call("tutti_ack", object{"ids": []string{"x"}}), a.call("h2a_inbox", object{"action": "pop", "instance": bob, "envelopeId": "x"}),
			a.call("h2a_inbox", object{"action": "put", "instance": bob, "envelope": object{"body": object{}}}),
		} {
			if !strings.HasPrefix(refused.failed(), "halt active") {
				t.Errorf("under halt: %v", refused.object)
			}
		}
		if err := os.Remove(r.haltFile()); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("both answered %v after the switch was on", best); best > 100*time.Millisecond {
		t.Errorf("answered after %v, want 100 ms", best)
	}
}

// TestHaltSilence: while the switch is on nothing is pushed and heartbeats continue, so no agent is reported as gone. When it is off
// nothing is pushed until the agent reads its mail, and then only what is new.
func TestHaltSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, at, peer := a.me(), a.session(), b.session()
	eventually(t, "both are notified of each other", func() bool {
		return a.about("presence.peer_joined", peer) == 1 && b.about("presence.peer_joined", at) == 1
	})
	told := func(s *serverProcess) int { return len(s.noted(func(note) bool { return true })) }
	before := [2]int{told(a), told(b)}

	r.raise()
	first := heartbeat(t, r.record(at))
	eventually(t, "heartbeats go on", func() bool { return heartbeat(t, r.record(at)).Sub(first) > quickExpiry }) // longer than a session lasts without
	c := r.start("gemini", "c")                                                                                   // joins
	c.end(0)                                                                                                      // and leaves
	put(t, r, ana, "env:1:halted")
	time.Sleep(300 * time.Millisecond) // in which nothing may be told
	if now := [2]int{told(a), told(b)}; now != before {
		t.Errorf("pushed under halt: %d notifications, want %d", now, before)
	}

	if err := os.Remove(r.haltFile()); err != nil {
		t.Fatal(err)
	}
	put(t, r, ana, "env:2:cleared")
	time.Sleep(700 * time.Millisecond) // two heartbeats
	if now := [2]int{told(a), told(b)}; now != before {
		t.Errorf("pushed before the agent was let go on: %d notifications, want %d", now, before)
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 2 {
		t.Errorf("received %v, want both messages of the meantime", got)
	}
	put(t, r, ana, "env:3:new")
	eventually(t, "what is new is pushed", func() bool { return a.arrived("env:3:new") == 1 })
	if n := told(a) - before[0]; n != 1 {
		t.Errorf("%d notifications, want one about the new message: %v", n, a.noted(func(note) bool { return true })[before[0]:])
	}
	if now := told(b); now != before[1] {
		t.Errorf("the other agent, which was not resumed, got something")
	}
}

// TestHaltToggled: the switch goes on and off a hundred times in about a second, while one agent sends and the other receives. A message
// reported as sent is received once, a refused one was not sent, and no notice comes twice.
func TestHaltToggled(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, at := a.me(), a.session()
	eventually(t, "its peer is notified", func() bool { return b.about("presence.peer_joined", at) == 1 })
	l := newLedger()
	tried := func(s *serverProcess, tool string, args object) answer {
		got := s.call(tool, args)
		if got.failed() != "" {
			if l.refuse(got); !strings.HasPrefix(got.failed(), "halt active") {
				t.Errorf("%s: %v", tool, got.object)
			}
		}
		return got
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	during := func(f func()) {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					f()
				}
			}
		})
	}
	during(func() {
		if id := tried(b, "tutti_send", object{"to": ana, "text": "x"}).str("id"); id != "" {
			l.send(id, ana)
		}
	})
	during(func() {
		for _, m := range tried(a, "tutti_receive", object{"wait": 1}).list("messages") {
			l.offer(m["id"].(string))
		}
	})
	for range 100 {
		r.raise()
		time.Sleep(5 * time.Millisecond)
		if err := os.Remove(r.haltFile()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(over)
	all.Wait()
	time.Sleep(300 * time.Millisecond) // in which every look that began while it was on has ended, and has been counted
	l.drain(a)
	last := b.ok("tutti_send", object{"to": ana, "text": "last"}).str("id")
	eventually(t, "what comes then is pushed", func() bool { return a.arrived(last) == 1 })
	for id := range l.sent {
		if n := l.offered[id]; n != 1 {
			t.Errorf("%s was received %d times", id, n)
		}
		if n := a.arrived(id); n > 1 {
			t.Errorf("%s was pushed %d times", id, n)
		}
	}
	if len(l.offered) != len(l.sent) || len(l.sent) == 0 || len(l.refused) == 0 {
		t.Errorf("%s; refused: %v", l, l.refused)
	}
	if n := b.about("presence.peer_left", at) + b.about("presence.peer_joined", at); n != 1 {
		t.Errorf("its peer got %d presence changes, want one", n)
	}
	for _, s := range []*serverProcess{a, b} {
		if lines := strings.Count(s.errs.String(), "\n"); lines > 10 {
			t.Errorf("%s said %d lines: %s", s.name, lines, tail(s.errs.String()))
		}
	}
	t.Logf("%s; refused: %v", l, l.refused)
}
