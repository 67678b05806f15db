package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// conducting asks until that agent conducts: who does is worked out at each question.
func (s *serverProcess) conducting(place object, want string) {
	s.t.Helper()
	var got answer
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = s.ok("h2a_conductor", place); got.str("conductor") == want {
			return
		}
	}
	s.t.Fatalf("who conducts: %v, want %s", got, want)
}

// TestConductor: the conductor role among real servers. A killed conductor loses it, one that ends releases it, one that is stopped for a
// while gets it back, and a new one queues.
func TestConductor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	place := object{"workspacePath": filepath.Join(r.home, "w")}
	start := func(host string) *serverProcess {
		return r.start("w", []string{"--auto-open", "--host", host}, "H2A_HEARTBEAT_INTERVAL_MS=200")
	}
	a, b, c := start("claude"), start("codex"), start("gemini")
	me, you, third := a.me(), b.me(), c.me()
	if got := a.ok("h2a_conductor", nil); got["conductor"] != nil || len(got.list("candidates")) != 3 || got["live"] != true {
		t.Errorf("no claim is left: %v", got)
	}
	if got := a.ok("h2a_conductor_claim", object{"instance": me}); got.str("conductor") != me || got["signed"] != true {
		t.Errorf("a claims: %v", got)
	}
	for n, s := range []*serverProcess{b, c} {
		i := []string{you, third}[n]
		if got := s.ok("h2a_conductor_claim", object{"instance": i, "workspacePath": place["workspacePath"]}); got.str("conductor") != me || got.str("claimedBy") != me {
			t.Errorf("%s claims as well: %v", i, got)
		}
	}
	b.refused("nothing is written in the name of", "h2a_conductor_claim", object{"instance": me})
	b.refused("nothing is written in the name of", "h2a_conductor_release", object{"instance": me})
	b.refused("missing 'instance'", "h2a_conductor_claim", nil)
	b.refused("has no live session", "h2a_conductor_claim", object{"instance": you, "workspaceId": "ws:elsewhere"})
	b.refused("is not a workspace id", "h2a_conductor", object{"workspaceId": "--help"})
	b.refused("idleMs", "h2a_conductor_launch_check", object{"idleMs": 0})
	if got := b.ok("h2a_conductor_launch_check", nil); got.str("recommendation") != "none" || got.str("conductor") != me || got["trackAvailable"] != false {
		t.Errorf("check: %v", got)
	}
	if got := b.ok("h2a_conductor_launch", object{"confirm": "false"}); got.str("action") != "none" {
		t.Errorf("launch: %v", got)
	}

	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // alive, and silent from now on
		t.Fatal(err)
	}
	r.age(me)
	b.conducting(place, you)
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.conducting(place, me)
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	b.conducting(place, you)
	again := start("claude") // the same agent, in a new session
	if got := again.me(); got != me {
		t.Fatalf("%s came back as %s", me, got)
	}
	again.conducting(object{}, you)
	if got := again.ok("h2a_conductor_claim", object{"instance": me}); got.str("conductor") != you {
		t.Errorf("it claims once more: %v", got)
	}
	b.ok("h2a_conductor_release", object{"instance": you})
	c.conducting(place, third)
	c.in.Close() // its program has ended
	<-c.ended
	again.conducting(object{}, me)
}

// age makes the last heartbeat of an agent older than any that counts, as the time would that nobody wants to wait for.
func (r *rig) age(who string) {
	r.t.Helper()
	files, _ := filepath.Glob(filepath.Join(r.root, "presence", "*.json"))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(raw), who) {
			continue
		}
		old := regexp.MustCompile(`"heartbeatAt": "[^"]*"`).ReplaceAll(raw, []byte(`"heartbeatAt": "2020-01-01T00:00:00.000Z"`))
		if err := os.WriteFile(f, old, 0o600); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	r.t.Fatalf("%s has no session in %q", who, files)
}
