package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
)

// TestServerReplacesStandIn: the server of an agent that was started in tmux is that agent, and takes the place of the record that stood in for it.
func TestServerReplacesStandIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(r.home, "ana")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	plain := r.start("ana", []string{"--auto-open", "--host", "codex"}) // somebody else of that host works there, too
	other := plain.me()
	a := app.New(app.Settings{Root: r.root, Home: r.home, Dir: dir, Getenv: func(string) string { return "" }})
	who, err := full.SessionBus(a, func(string) {}).Began(t.Context(), lifecycle.Birth{
		Name: "reviewer", Agent: "codex", Owner: "0123456789abcdef", Dir: dir, Process: proc.Self(), Pane: tmux.Pane{ID: "%0"},
	})
	if err != nil || who == other {
		t.Fatalf("%s beside %s, %v", who, other, err)
	}
	record := filepath.Join(r.root, "presence", "*0123456789abcdef*")
	if found, err := filepath.Glob(record); err != nil || len(found) != 1 {
		t.Fatalf("records: %q, %v", found, err)
	}
	s := r.start("ana", []string{"--auto-open", "--host", "codex"})
	if me := s.me(); me != who {
		t.Errorf("the server is %s, and the agent was %s", me, who)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		found, err := filepath.Glob(record)
		if err != nil || time.Now().After(end) {
			t.Fatalf("it still stands in: %q, %v", found, err)
		}
		if len(found) == 0 {
			break
		}
	}
	if again := plain.me(); again != other {
		t.Errorf("the other one is %s now, and was %s", again, other)
	}
	s.end(0)
	plain.end(0)
}
