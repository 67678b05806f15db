package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSessionWait: an agent hears when a session has ended, and of one that goes on what it does.
func TestSessionWait(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	r := newRig(t)
	sockets, err := os.MkdirTemp("/tmp", "ts") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"TMUX_TMPDIR=" + sockets, "TMUX_SERVER_NAME=wait"}
	t.Cleanup(func() {
		c := exec.Command("tmux", "-L", "wait", "kill-server")
		c.Env = append(os.Environ(), env...)
		_ = c.Run()
		os.RemoveAll(sockets)
	})
	s := r.start("w", []string{"--auto-open", "--host", "claude"}, env...)
	do := func(args ...string) {
		t.Helper()
		c := r.command("tutti", args, env...)
		c.Dir = filepath.Join(r.home, "w")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("tutti %q: %v: %s", args, err, out)
		}
	}
	for _, name := range []string{"one", "two"} {
		do("session", "create", "--agent", "custom", "--session", name, "--", "sleep", "1000")
	}
	got := s.ok("tutti_session_wait", object{"sessions": []string{"one"}, "wait": 1})
	if all := got.list("sessions"); got["reached"] != false || len(all) != 1 || all[0].str("name") != "one" || all[0].str("state") != "unknown" {
		t.Errorf("a program of the user's: %v", got)
	}
	do("session", "stop", "two")
	got = s.ok("tutti_session_wait", object{"sessions": []string{"one", "two"}, "any": true, "wait": 20})
	if all := got.list("sessions"); got["reached"] != true || len(all) != 2 || all[1].str("state") != "ended" || all[1]["reached"] != true {
		t.Errorf("one has ended: %v", got)
	}
	got = s.ok("tutti_session_wait", object{"sessions": []string{"two"}, "until": []string{"idle"}, "wait": 20})
	if got["reached"] != false || got.str("note") != "session two: it has ended" {
		t.Errorf("it never will: %v", got)
	}
	s.refused("no such session", "tutti_session_wait", object{"sessions": []string{"nobody"}})
	s.refused("must be a list of idle", "tutti_session_wait", object{"sessions": []string{"one"}, "until": []string{"done"}})
	s.refused("missing 'sessions'", "tutti_session_wait", nil)
}
