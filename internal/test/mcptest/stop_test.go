package mcptest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/test/foreigntest"
)

// record is the file of a session.
func (r *rig) record(session string) string {
	return filepath.Join(r.root, "presence", address.Segment(session)+".json")
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// about are the notifications of a server that say something of a session.
func (s *serverProcess) about(topic, session string) int {
	return len(s.noted(func(n note) bool { return n.Topic == topic && n.Data.Peer.SessionID == session }))
}

// TestStopped: a server is stopped for longer than its session lasts, a foreign program removes its record, and mail and calls arrive
// meanwhile. When it continues it is present again with its next heartbeat, answers, and pushes the mail once. Its peer gets one leave and
// one join, and it gets no notice of a peer that was present all the time.
func TestStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, at, peer := a.me(), a.session(), b.session()
	record := r.record(at)
	eventually(t, "both are notified of each other", func() bool {
		return a.about("presence.peer_joined", peer) == 1 && b.about("presence.peer_joined", at) == 1
	})

	a.signal(syscall.SIGSTOP)
	sweeper := &foreigntest.Program{Root: r.root, Expiry: quickExpiry}
	eventually(t, "its record is swept", func() bool {
		if _, senseless, err := sweeper.Sessions(); err != nil || len(senseless) > 0 {
			t.Fatalf("%v; swept as senseless: %q", err, senseless)
		}
		return !there(record)
	})
	if !there(r.record(peer)) {
		t.Error("the record of its peer was swept as well")
	}
	eventually(t, "its peer is notified that it left", func() bool { return b.about("presence.peer_left", at) == 1 })
	var mail []string
	for n := range 5 {
		mail = append(mail, b.ok("tutti_send", object{"to": ana, "text": fmt.Sprint("meanwhile ", n)}).str("id"))
	}
	var asked []<-chan answer
	for range 5 {
		asked = append(asked, a.ask("tutti_status", nil))
	}

	goes := time.Now()
	a.signal(syscall.SIGCONT)
	eventually(t, "it is present again", func() bool { return there(record) })
	back := time.Since(goes)
	for _, c := range asked {
		if got := a.get(c, "tutti_status", nil); got.failed() != "" {
			t.Errorf("a call that was written while it was stopped: %v", got.object)
		}
	}
	eventually(t, "the mail is pushed, and its peer told that it is there", func() bool {
		for _, id := range mail {
			if a.arrived(id) == 0 {
				return false
			}
		}
		return b.about("presence.peer_joined", at) == 2
	})
	time.Sleep(1500 * time.Millisecond) // five heartbeats, in which nothing more may be told
	for _, id := range mail {
		if n := a.arrived(id); n != 1 {
			t.Errorf("%s was pushed %d times", id, n)
		}
	}
	for what, got := range map[string][2]int{
		"its peer hears that it joined": {b.about("presence.peer_joined", at), 2},
		"its peer hears that it left":   {b.about("presence.peer_left", at), 1},
		"it hears that the peer joined": {a.about("presence.peer_joined", peer), 1},
		"it hears that the peer left":   {a.about("presence.peer_left", peer), 0},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d times, want %d", what, got[0], got[1])
		}
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != len(mail) {
		t.Errorf("received %d messages, want %d", len(got), len(mail))
	}
	t.Logf("present again after %v", back)
}

// TestAllStopped: after a whole machine has slept no agent is reported as gone, whichever wakes up first.
func TestAllStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	at, peer := a.session(), b.session()
	eventually(t, "both are notified of each other", func() bool {
		return a.about("presence.peer_joined", peer) == 1 && b.about("presence.peer_joined", at) == 1
	})
	a.signal(syscall.SIGSTOP)
	b.signal(syscall.SIGSTOP)
	time.Sleep(quickExpiry + time.Second) // longer than both sessions last
	b.signal(syscall.SIGCONT)
	a.signal(syscall.SIGCONT)
	time.Sleep(1500 * time.Millisecond) // in which nothing is to be told
	for _, s := range []*serverProcess{a, b} {
		if n := len(s.noted(func(n note) bool { return n.Topic == "presence.peer_left" })); n > 0 {
			t.Errorf("%s got %d notices of a leave", s.name, n)
		}
		if n := len(s.noted(func(n note) bool { return n.Topic == "presence.peer_joined" })); n != 1 {
			t.Errorf("%s got %d notices of a join, want one", s.name, n)
		}
	}
	for _, id := range []string{at, peer} {
		if !there(r.record(id)) {
			t.Errorf("%s is not present", id)
		}
	}
}

// put lays a message into a mailbox as a foreign program does.
func put(t *testing.T, r *rig, to, id string) {
	t.Helper()
	if err := (&foreigntest.Program{Root: r.root}).Put(to, id, message(id, "claude:foreign:000000000000", to)); err != nil {
		t.Fatal(err)
	}
}

// message is one that nobody has signed.
func message(id, from, to string) map[string]any {
	return map[string]any{
		"id": id, "type": "event", "protocol": "sentropic.h2a", "version": "0.1", "createdAt": "2026-01-01T00:00:00.000Z",
		"actor":  map[string]any{"instance": from, "role": "AGENTS", "scope": "s"},
		"target": map[string]any{"instance": to}, "body": map[string]any{"kind": "message", "text": id},
	}
}
