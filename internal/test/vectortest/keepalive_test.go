package vectortest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/monitor"
	"tutti/internal/store/memstore"
	"tutti/internal/test/progfile"
)

// keepalive runs a case in a tmux server that has the live panes. There each pane counts only while the program of its agent runs in it, so
// that it does: what else is asked of a pane has tests of its own.
func keepalive(t *testing.T, c kase) {
	var v struct {
		Name     string
		Sessions []struct {
			SessionID      string
			Pane           string
			HeartbeatAgeMs int
		}
		LivePanes []string
		Expect    struct{ Refreshed []string }
	}
	c.into(t, &v)
	server := panes(t, v.LivePanes)
	p := presence.New(memstore.New(memstore.Options{}))
	began, age := time.Now(), 0
	for _, s := range v.Sessions {
		age = max(age, s.HeartbeatAgeMs)
		start := presence.Start{SessionID: address.SessionID(s.SessionID), Instance: "claude:api:3f2a9c01b7de", Host: "claude"}
		if s.Pane != "" {
			start.Launch = &presence.Launch{Cwd: "/", Command: "claude", Tmux: &presence.Tmux{Session: "x", Pane: s.Pane}}
		}
		if _, err := p.Open(t.Context(), start, began); err != nil {
			t.Fatal(err)
		}
	}
	var refreshed []string
	k := monitor.Keepalive{
		Presence: p, Servers: func() []tmux.Server { return []tmux.Server{server} },
		Now:     func() time.Time { return began.Add(time.Duration(age) * time.Millisecond) },
		Kept:    func(s *presence.Session) { refreshed = append(refreshed, string(s.SessionID)) },
		Problem: func(err error) { t.Error(err) },
	}
	if err := k.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(refreshed); strings.Join(refreshed, " ") != strings.Join(v.Expect.Refreshed, " ") {
		t.Errorf("refreshed %q, want %q", refreshed, v.Expect.Refreshed)
	}
}

// panes starts a tmux server that has exactly these panes, in each of them a program that is called claude; none: there is no server.
func panes(t *testing.T, ids []string) tmux.Server {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: no agent is kept present")
	}
	sockets, err := os.MkdirTemp("/tmp", "tv") // the path of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	t.Setenv("TMUX_TMPDIR", sockets)
	server, err := tmux.Named("v" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", server.String(), "kill-server").Run() }) // there may be none
	if len(ids) == 0 {
		return server
	}
	program := claude(t)
	var others []tmux.Pane
	for n := 0; len(ids) > 0; n++ { // a server counts its panes
		pane, err := server.New(t.Context(), tmux.Spec{Name: strconv.Itoa(n), Dir: "/", Argv: []string{program, "1000"}, Isolated: true})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(ids, pane.ID); i >= 0 {
			ids = slices.Delete(slices.Clone(ids), i, i+1)
		} else {
			others = append(others, pane)
		}
	}
	for _, pane := range others {
		if err := server.Kill(t.Context(), pane); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := server.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pane := range snap.Panes {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			// tmux calls a pane by what is to be started in it until that runs
			if name, err := proc.Comm(pane.PID); err == nil && name == "claude" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("no claude in pane %s", pane.ID)
			}
		}
	}
	return server
}

// claude is a program of that name that does nothing for long.
func claude(t *testing.T) string {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "claude")
	err = progfile.Write(path, body, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
