package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/approval"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// onBus makes a bus below a home folder of its own, and notes it in the inventory.
func onBus(t *testing.T, home, name string) *app.World {
	t.Helper()
	root := filepath.Join(home, name, ".h2a")
	on, err := app.New(app.Settings{Root: root, Dir: home}).World(app.Creating)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { on.Close() })
	return on
}

// ownHome has all files of the user in a folder of this test.
func ownHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("AGENT_SESSIONS_YAML", "")
	t.Chdir(home)
	return home
}

// deposit puts a file into the mailbox of an agent.
func deposit(t *testing.T, root, name string) {
	t.Helper()
	box := filepath.Join(root, "inbox", "claude__api__3f2a9c01b7de")
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(box, name), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// news waits until something is reported.
func (w *watch) wants(t *testing.T, what string) {
	t.Helper()
	select {
	case <-w.news:
	case <-time.After(20 * time.Second):
		t.Errorf("%s was not reported", what)
	}
}

// TestWatchBus: mail on a bus is a reason to look.
func TestWatchBus(t *testing.T) {
	home := ownHome(t)
	on := onBus(t, home, "bus")
	ctx, stop := context.WithCancel(t.Context())
	w := newWatch(ctx, app.New(app.Settings{Root: on.Root.Path, Dir: home}))
	defer w.close()
	defer stop()
	deposit(t, on.Root.Path, "env__1.json")
	w.wants(t, "mail")
}

// TestPresenceChanges: a new or ended connection causes a new snapshot; a heartbeat does not.
func TestPresenceChanges(t *testing.T) {
	home := ownHome(t)
	on := onBus(t, home, "bus")
	who := address.Instance("claude:api:3f2a9c01b7de")
	s, err := on.Presence.Open(t.Context(), presence.Start{SessionID: "sess:1", Instance: who, Host: "claude", PID: os.Getpid()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var w watch
	k := store.Key{Kind: store.Presence, Name: address.Segment("sess:1")}
	live := map[store.Key]bool{}
	see := func(what string, want bool) {
		t.Helper()
		if got := w.cameOrWent(t.Context(), on, live, k); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	see("begun", true)
	if _, err := on.Presence.Keep(t.Context(), "sess:1", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	see("a heartbeat", false)
	if err := on.Presence.Close(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	see("ended", true)
	see("gone", false)
}

// TestFollowNewBus: a bus that is made while Follow runs is in a later view, and so is what happens on it then.
func TestFollowNewBus(t *testing.T) {
	home := ownHome(t)
	views := make(chan *View)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Follow(ctx, &Options{App: app.New(app.Settings{Dir: home})}, func(v *View, err error) {
			if err != nil {
				t.Error(err)
			}
			select {
			case views <- v:
			case <-ctx.Done():
			}
		})
	}()
	defer func() {
		stop()
		<-done
	}()
	until := func(what string, is func(*View) bool) {
		t.Helper()
		end := time.After(20 * time.Second)
		for {
			select {
			case v := <-views:
				if is(v) {
					return
				}
			case <-end:
				t.Fatalf("%s is not shown", what)
			}
		}
	}
	until("the first view", func(v *View) bool { return len(v.Buses) == 0 })
	on := onBus(t, home, "later")
	until("the new bus", func(v *View) bool { return len(v.Buses) == 1 })
	who := address.Instance("claude:api:3f2a9c01b7de")
	if _, err := on.Presence.Open(t.Context(), presence.Start{SessionID: "sess:1", Instance: who, Host: "claude", PID: os.Getpid()}, time.Now()); err != nil {
		t.Fatal(err)
	}
	until("the new agent", func(v *View) bool { return len(v.Rows) == 1 && v.Rows[0].Instance == who })
}

// TestWatchApprovals: a request to the user is a reason to look. Claude Code says that it waits before its hook has asked.
func TestWatchApprovals(t *testing.T) {
	home := ownHome(t)
	a := app.New(app.Settings{Dir: home})
	w := newWatch(t.Context(), a)
	defer w.close()
	state, err := a.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	ask, err := approval.Ask(state, approval.Request{CLI: "claude", Tool: "Bash", About: "ls", Options: []approval.Option{{ID: approval.Allow}}, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	w.wants(t, "a request")
	if err := ask.Close(); err != nil {
		t.Fatal(err)
	}
	w.wants(t, "its end")
}
