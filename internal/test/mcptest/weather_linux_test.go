package mcptest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/test/foreigntest"
)

// TestDiskFull: a server that can write no byte says so in its answers and has sent nothing; no answer is without one. As soon as
// it can write again it sends, and is present again if it was not any more.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, bob, at := a.me(), b.me(), a.session()
	eventually(t, "its peer is notified", func() bool { return b.about("presence.peer_joined", at) == 1 })
	fill := func(most uint64) {
		if err := unix.Prlimit(a.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
	}
	waiting := b.ok("tutti_send", object{"to": ana, "text": "before"}).str("id")
	want := map[string]bool{}
	for _, most := range []uint64{3000, 100, 0} { // the first is enough for small ones
		fill(most)
		for n, text := range []string{strings.Repeat("x", 5000), "small"} {
			got := a.call("tutti_send", object{"to": bob, "text": text})
			if id := got.str("id"); got.failed() == "" && n == 1 && most == 3000 {
				want[id] = true
			} else if !strings.Contains(got.failed(), "file too large") {
				t.Errorf("room for %d bytes: send of %d: %v", most, len(text), got.object)
			}
		}
	}
	for _, refused := range []answer{
		a.call("tutti_reply", object{"id": waiting, "text": "x"}), a.call("h2a_session_open", object{"instance": ana}),
		a.call("h2a_inbox", object{"action": "put", "instance": bob, "envelope": object{"body": object{"kind": "message"}}}),
	} {
		if refused.failed() == "" {
			t.Errorf("with a full disk: %v", refused.object)
		}
	}
	sweeper := &foreigntest.Program{Root: r.root, Expiry: quickExpiry}
	eventually(t, "its record is swept, because it misses its heartbeats", func() bool {
		_, _, err := sweeper.Sessions()
		return err == nil && b.about("presence.peer_left", at) == 1
	})
	fill(unix.RLIM_INFINITY)
	eventually(t, "it is present again", func() bool { return b.about("presence.peer_joined", at) == 2 })
	want[a.ok("tutti_send", object{"to": bob, "text": "after"}).str("id")] = true
	got := b.ok("tutti_receive", nil).list("messages")
	for _, m := range got {
		if id, _ := m["id"].(string); !want[id] {
			t.Errorf("a message arrived that was reported as not sent: %v", m)
		}
	}
	if len(got) != len(want) || len(want) != 2 {
		t.Errorf("%d messages arrived, %d were reported as sent, want 2", len(got), len(want))
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 1 || got[0]["id"] != waiting {
		t.Errorf("received %v, want the one message from before", got)
	}
	a.quiet()
}

// quiet checks that a server did not say too much about what went wrong.
func (s *serverProcess) quiet() {
	s.t.Helper()
	if lines := strings.Count(s.errs.String(), "\n"); lines > 10 {
		s.t.Errorf("%s said %d lines: %s", s.name, lines, tail(s.errs.String()))
	}
}

// worked is the processor time that a server has used.
func (s *serverProcess) worked() time.Duration {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	var user, system time.Duration
	if _, err := fmt.Sscan(strings.Join(strings.Fields(rest)[11:13], " "), (*int64)(&user), (*int64)(&system)); err != nil {
		s.t.Fatal(err)
	}
	return (user + system) * 10 * time.Millisecond // a hundred ticks a second
}

// TestRootGone: a bus that is moved away while servers use it is reported as missing, and works again when it is back. A removed one causes
// no busy loop, and another one in its place is not mistaken for it.
func TestRootGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	a, b := r.start("claude", "a"), r.start("codex", "b")
	ana, bob := a.me(), b.me()
	id := b.ok("tutti_send", object{"to": ana, "text": "before"}).str("id")
	says := func(what string) {
		t.Helper()
		for tool, args := range map[string]object{
			"tutti_send": {"to": bob, "text": "x"}, "tutti_receive": {}, "tutti_peers": {}, "tutti_read": {"id": id},
			"h2a_inbox": {"action": "read", "instance": ana}, "h2a_session_open": {"instance": ana},
		} {
			if got := a.call(tool, args); !strings.Contains(got.failed(), what) || got.str("hint") == "" {
				t.Errorf("%s: %v, want an error that says %q, with a hint", tool, got.object, what)
			}
		}
		if got := a.ok("tutti_status", nil); got.object["ok"] != false || !strings.Contains(got.str("problem"), what) {
			t.Errorf("status: %v, want the problem %q", got.object, what)
		}
	}

	away := r.root + ".away"
	if err := os.Rename(r.root, away); err != nil {
		t.Fatal(err)
	}
	says("is not there any more")
	if err := os.Rename(away, r.root); err != nil {
		t.Fatal(err)
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 1 || got[0]["id"] != id {
		t.Errorf("received %v, want the message from before", got)
	}
	news := b.ok("tutti_send", object{"to": ana, "text": "back"}).str("id")
	eventually(t, "what comes then is pushed", func() bool { return a.arrived(news) == 1 })

	eventually(t, "it is removed", func() bool { return os.RemoveAll(r.root) == nil }) // heartbeats write meanwhile
	says("is not there any more")
	before := a.worked() + b.worked()
	time.Sleep(1500 * time.Millisecond) // five heartbeats
	if used := a.worked() + b.worked() - before; used > 300*time.Millisecond {
		t.Errorf("without a bus both worked for %v in 1.5 s", used)
	}
	r.run("init")
	says("was replaced by another one")
	for _, s := range []*serverProcess{a, b} {
		s.quiet()
		if code, took := s.end(0); code != 0 || took > soon {
			t.Errorf("%s: status %d after %v", s.name, code, took)
		}
	}
	if left := r.sessions(); len(left) > 0 {
		t.Errorf("sessions on the other bus: %q", left)
	}
}

// TestNoHome: without a known home folder the halt switch cannot be read, so nothing is sent, and the answers say what is missing. A home
// folder that does not exist and cannot be created is enough.
func TestNoHome(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("does not apply: only the superuser can start programs as an unknown user")
	}
	r := newRig(t)
	const nobody = 54321 // stands in no password database
	folder := r.home + "/w"
	err := errors.Join(os.Mkdir(folder, 0o755), os.Chown(folder, nobody, nobody))
	for _, dir := range []string{r.bin, r.bin + "/tutti-full", r.home, filepath.Dir(r.home), filepath.Dir(filepath.Dir(r.home)), folder} {
		err = errors.Join(err, os.Chmod(dir, 0o755)) // whatever the umask is
	}
	if err != nil {
		t.Fatal(err)
	}
	for n, home := range []string{"", "HOME=", "HOME=w", "HOME=/nonexistent"} {
		c := r.serve("claude", "w")
		c.Env = []string{fmt.Sprintf("H2A_ROOT=%s/bus%d", folder, n), "PATH=/usr/bin:/bin", noLinger}
		if home != "" {
			c.Env = append(c.Env, home)
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		s := r.beginWith(c, "w")
		status, sent := s.ok("tutti_status", nil), s.call("tutti_send", object{"to": "claude:w", "text": "x"})
		if known := home == "HOME=/nonexistent"; known {
			if status.object["ok"] != true || status.object["halted"] != false || sent.failed() != "" {
				t.Errorf("%q: %v, %v", home, status.object, sent.object)
			}
		} else if status.object["ok"] != false || status.object["halted"] != true || !strings.Contains(status.str("problem"), "HOME") ||
			!strings.Contains(sent.failed(), "HOME") {
			t.Errorf("%q: %v, %v", home, status.object, sent.object)
		}
		if code, took := s.end(0); code != 0 || took > soon {
			t.Errorf("%q: status %d after %v", home, code, took)
		}
	}
}
