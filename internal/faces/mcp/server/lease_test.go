package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLeases: file reservations among real servers. Both sides are notified of the end, whether the reservation expired or its holder left.
func TestLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := func(host string) *serverProcess {
		return r.start("w", []string{"--auto-open", "--host", host}, "H2A_HEARTBEAT_INTERVAL_MS=200")
	}
	a, b := start("claude"), start("codex")
	me, you := a.me(), b.me()
	if err := os.Mkdir(filepath.Join(r.home, "w", "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src", filepath.Join(r.home, "w", "link")); err != nil {
		t.Fatal(err)
	}
	got := a.ok("tutti_lease_take", object{"paths": []string{"src"}, "for": "2h", "note": "grammar"}).list("leases")
	if len(got) != 1 || got[0].str("holder") != me || got[0].str("kind") != "folder" {
		t.Fatalf("taken: %v", got)
	}
	b.refused("is reserved by "+me, "tutti_lease_take", object{"paths": []string{"free", "link/new.go"}})
	if got := b.ok("tutti_lease_list", object{"paths": []string{"src/x/y"}}).list("leases"); len(got) != 1 || got[0].str("note") != "grammar" {
		t.Errorf("listed: %v", got)
	}
	if got := b.ok("tutti_lease_list", nil).list("leases"); len(got) != 1 {
		t.Errorf("what was refused as a whole is held in part: %v", got)
	}
	b.refused("is reserved by "+me, "tutti_lease_release", object{"paths": []string{"src"}})
	b.refused("is not a time", "tutti_lease_take", object{"paths": []string{"x"}, "for": "long"})
	b.refused("missing 'paths'", "tutti_lease_take", nil)
	b.refused("is not a list", "tutti_lease_take", object{"paths": 7})

	told := func(s *serverProcess, what string) {
		t.Helper()
		for _, m := range s.ok("tutti_receive", object{"wait": 20}).list("messages") {
			if strings.Contains(m.str("text"), what) {
				return
			}
		}
		t.Errorf("no message contains %q", what)
	}
	if got := a.ok("tutti_lease_release", object{"all": true}); got["count"] != 1.0 {
		t.Errorf("released: %v", got)
	}
	told(b, "its holder has released it")

	b.ok("tutti_lease_take", object{"paths": []string{"short"}, "for": "2s"})
	a.refused("is reserved by "+you, "tutti_lease_take", object{"paths": []string{"short"}})
	told(a, "its time is over")
	told(b, "Your reservation of")

	a.ok("tutti_lease_take", object{"paths": []string{"mine"}})
	b.refused("is reserved by "+me, "tutti_lease_take", object{"paths": []string{"mine"}})
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	told(b, "the session of its holder is gone")
	b.ok("tutti_lease_take", object{"paths": []string{"mine"}})
	again := start("claude")
	if got := again.me(); got != me {
		t.Fatalf("the next session is that of %s, not of %s", got, me)
	}
	told(again, "the session for which it was taken is gone")
}

// TestLeasesAfterHalt: between a halt and the first call of an agent its server sends no notice of an ended reservation, and none is lost.
func TestLeasesAfterHalt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := func(host string) *serverProcess {
		return r.start("w", []string{"--auto-open", "--host", host}, "H2A_HEARTBEAT_INTERVAL_MS=100")
	}
	a, b := start("claude"), start("codex")
	you := b.me()
	a.me()
	b.ok("tutti_lease_take", object{"paths": []string{"released"}})
	b.ok("tutti_lease_take", object{"paths": []string{"short"}, "for": "2s"})
	a.refused("is reserved by "+you, "tutti_lease_take", object{"paths": []string{"short", "released"}})
	r.run("halt", "look")
	b.refused("halt active", "tutti_lease_take", object{"paths": []string{"x"}})
	if got := b.ok("tutti_lease_release", object{"paths": []string{"released"}}); got["count"] != 1.0 {
		t.Errorf("released: %v", got)
	}
	for len(b.ok("tutti_lease_list", nil).list("leases")) > 0 {
		time.Sleep(50 * time.Millisecond)
	}
	r.run("resume")
	b.beats(r, 7)
	b.ok("tutti_lease_take", object{"paths": []string{"other"}})
	r.run("lease", "take", "third", "--instance", you)
	left, err := filepath.Glob(filepath.Join(r.root, "leases", "[sr]*.json"))
	if err != nil || len(left) != 2 {
		t.Errorf("what has ended before anybody had a look: %v, %v", left, err)
	}
	for _, s := range []*serverProcess{a, b} {
		if got := s.ok("tutti_status", nil); fmt.Sprint(got["unread"]) != "0" && got["unread"] != nil {
			t.Errorf("mail before anybody had a look: %v", got)
		}
	}
	b.ok("tutti_receive", nil)
	want := map[string]bool{"its time is over": true, "its holder has released it": true}
	for len(want) > 0 {
		all := a.ok("tutti_receive", object{"wait": 20}).list("messages")
		if len(all) == 0 {
			t.Fatalf("no message contains %v", want)
		}
		for _, m := range all {
			for w := range want {
				if strings.Contains(m.str("text"), w) {
					delete(want, w)
				}
			}
		}
	}
}

// beats waits until the server has written its heartbeat so often.
func (s *serverProcess) beats(r *rig, times int) {
	r.t.Helper()
	last := ""
	for times > 0 {
		var now strings.Builder
		for _, name := range r.presence() {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), s.me()) {
				now.Write(data)
			}
		}
		if now.String() != last {
			last = now.String()
			times--
		}
		time.Sleep(10 * time.Millisecond)
	}
}
