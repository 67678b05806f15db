package daemon

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// tmuxPane starts a tmux server of its own with a program in a pane, and returns the pane and the process.
func tmuxPane(t *testing.T, server string) (pane string, pid int) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here")
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-u", "-L", server, "-f", "/dev/null"}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	t.Cleanup(func() { _, _ = run("kill-server") })
	out, err := run("new-session", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "--", "sleep", "1000")
	if err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	pane, number, _ := strings.Cut(out, " ")
	if pid, err = strconv.Atoi(number); err != nil {
		t.Fatalf("tmux says %q", out)
	}
	return pane, pid
}

// TestKeepalive: an agent whose program runs in its pane stays present and is named once; one whose pane has another program does not.
func TestKeepalive(t *testing.T) {
	sockets, err := os.MkdirTemp("/tmp", "td") // the path of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	t.Setenv("TMUX_TMPDIR", sockets)
	pane, pid := tmuxPane(t, "any-name")
	s, out := service(t)
	w, err := s.App.World(app.Writing)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	began := time.Now()
	for id, pid := range map[address.SessionID]int{"sess:there": pid, "sess:gone": os.Getpid()} {
		_, err := w.Presence.Open(t.Context(), presence.Start{
			SessionID: id, Instance: address.Instance("claude:" + strings.TrimPrefix(string(id), "sess:") + ":3f2a9c01b7de"), Host: "claude", PID: pid,
			Launch: &presence.Launch{Cwd: "/", Command: "claude", Tmux: &presence.Tmux{Session: "x", Pane: pane}},
		}, began)
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(ctx, s, []Part{{"keepalive", keepalive}})
	}()
	out.shows(t, " keepalive: keeps claude:there:3f2a9c01b7de present, whose program runs in pane "+pane+"\n")
	cancel()
	<-done
	all, _, err := w.Presence.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	beats := map[address.SessionID]string{}
	for _, one := range all {
		beats[one.SessionID] = one.HeartbeatAt
	}
	if beats["sess:there"] <= beats["sess:gone"] || strings.Contains(out.String(), "claude:gone") {
		t.Errorf("heartbeats %v:\n%s", beats, out)
	}
}
