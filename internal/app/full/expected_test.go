package full

import (
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/app"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
)

// What is made ready for an agent is what it gets; for one that did not come nothing is left behind.
func TestExpected(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := app.New(app.Settings{Home: home, Dir: home, Getenv: func(string) string { return "" }})
	bus := SessionBus(a, func(string) {})
	keys := func() int {
		t.Helper()
		root, err := a.Root()
		if err != nil {
			t.Fatal(err)
		}
		names, err := os.ReadDir(filepath.Join(root.Path, "keys"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return len(names)
	}
	birth := func(name, owner string) lifecycle.Birth {
		return lifecycle.Birth{Name: name, Agent: "codex", Owner: owner, Dir: home, Command: []string{"codex"}, Resume: []string{"tutti", "session", "resume", name}}
	}
	none := birth("none", "00")
	drop := bus.Expected(t.Context(), none)
	if n := keys(); n != 2 {
		t.Fatalf("%d files of keys were made ahead, want 2", n)
	}
	drop()
	drop()
	if n := keys(); n != 0 {
		t.Fatalf("%d files of keys are left of one that did not come", n)
	}
	one := birth("one", "01")
	drop = bus.Expected(t.Context(), one)
	one.Process, one.Pane = program(t), tmux.Pane{ID: "%7", Window: "@2"}
	i, err := bus.Began(t.Context(), one)
	if err != nil || i == "" {
		t.Fatalf("%q, %v", i, err)
	}
	drop() // too late
	if n := keys(); n != 2 {
		t.Errorf("%d files of keys, want the 2 of the one that came", n)
	}
	// It goes on under the id that it had: no other one is made.
	one.Instance, one.Owner = i, "02"
	bus.Expected(t.Context(), one)
	if again, err := bus.Began(t.Context(), one); err != nil || again != i || keys() != 2 {
		t.Errorf("again: %q, want %q, %v; %d files of keys", again, i, err, keys())
	}
}
