package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/app"
)

// TestWatchBus: mail on a bus is a reason to look.
func TestWatchBus(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	root := filepath.Join(home, "bus", ".h2a")
	on, err := app.New(app.Settings{Root: root, Dir: home}).World(app.Creating)
	if err != nil {
		t.Fatal(err)
	}
	on.Close()
	ctx, stop := context.WithCancel(t.Context())
	watch := newWatch(ctx, app.New(app.Settings{Root: root, Dir: home}))
	defer watch.close()
	defer stop()
	box := filepath.Join(root, "inbox", "claude__api__3f2a9c01b7de")
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(box, "env__1.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-watch.news:
	case <-time.After(20 * time.Second):
		t.Error("mail was not reported")
	}
}
