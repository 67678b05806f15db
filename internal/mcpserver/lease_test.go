package mcpserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeases: files among real servers. The end of a lease is told to both sides, whether its time is over or its holder has gone.
func TestLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := func(host string) *server {
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
	b.refused("is leased by "+me, "tutti_lease_take", object{"paths": []string{"free", "link/new.go"}})
	if got := b.ok("tutti_lease_list", object{"paths": []string{"src/x/y"}}).list("leases"); len(got) != 1 || got[0].str("note") != "grammar" {
		t.Errorf("listed: %v", got)
	}
	if got := b.ok("tutti_lease_list", nil).list("leases"); len(got) != 1 {
		t.Errorf("what was refused as a whole is held in part: %v", got)
	}
	b.refused("is leased by "+me, "tutti_lease_release", object{"paths": []string{"src"}})
	b.refused("is no time", "tutti_lease_take", object{"paths": []string{"x"}, "for": "long"})
	b.refused("missing 'paths'", "tutti_lease_take", nil)
	b.refused("is no list", "tutti_lease_take", object{"paths": 7})

	told := func(s *server, what string) {
		t.Helper()
		for _, m := range s.ok("tutti_receive", object{"wait": 20}).list("messages") {
			if strings.Contains(m.str("text"), what) {
				return
			}
		}
		t.Errorf("nobody says %q", what)
	}
	if got := a.ok("tutti_lease_release", object{"all": true}); got["count"] != 1.0 {
		t.Errorf("released: %v", got)
	}
	told(b, "its holder has released it")

	b.ok("tutti_lease_take", object{"paths": []string{"short"}, "for": "2s"})
	a.refused("is leased by "+you, "tutti_lease_take", object{"paths": []string{"short"}})
	told(a, "its time is over")
	told(b, "Your lease on")

	a.ok("tutti_lease_take", object{"paths": []string{"mine"}})
	b.refused("is leased by "+me, "tutti_lease_take", object{"paths": []string{"mine"}})
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	told(b, "the session of its holder is gone")
	b.ok("tutti_lease_take", object{"paths": []string{"mine"}})
}
