package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// TestRemove: only what has ended is removed, and it keeps its conversation.
func TestRemove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	path := ""
	r.said(row.Conversation(), func(p string) { path = p })
	_, err := m.Remove(t.Context(), "a")
	r.wants(err, Refused, "it has not ended")
	_, err = m.Remove(t.Context(), "b")
	r.wants(err, Refused, "not in the registry")
	if _, err := m.Stop(t.Context(), StopRequest{Session: "a"}); err != nil {
		t.Fatal(err)
	}
	was, err := m.Remove(t.Context(), "a")
	if err != nil || was.Conversation() != row.Conversation() {
		t.Fatalf("%s, %v", was.JSON(), err)
	}
	if _, err := m.row(t.Context(), "a"); !errors.Is(err, errUnregistered) || path == "" {
		t.Errorf("the row: %v", err)
	}
	if rest := r.create(m, "a"); rest.Conversation() == row.Conversation() { // its name is free
		t.Errorf("%s", rest.JSON())
	}
}

// TestRemoveLeftover: a row stays as long as processes of its session run.
func TestRemoveLeftover(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle,daemon,stubborn")
	r.tmux("kill-session", "-t", "=one")
	r.write(&row, func(row *registry.Row) { row.Status = registry.Terminated })
	_, err := r.m.Remove(t.Context(), "one")
	r.wants(err, Refused, "these processes of it run")
}

// TestRename: the session and its row get the name together, and a rename that was cut off can be repeated.
func TestRename(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.create(m, "taken")
	r.wants(m.Rename(t.Context(), "a", "taken"), Refused, "there is a session taken already")
	r.wants(m.Rename(t.Context(), "a", "x.y"), Refused, "it cannot be renamed")
	cut := errors.New("cut off")
	m.at = func(step string) {
		if step == "renamed" {
			panic(cut)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_ = m.Rename(t.Context(), "a", "new")
	}()
	m.at = nil
	if got := r.row("a"); got.OwnerID != row.OwnerID {
		t.Fatalf("the row: %s", got.JSON())
	}
	if err := m.Rename(t.Context(), "a", "new"); err != nil {
		t.Fatal(err)
	}
	now := r.row("new")
	if pane, err := r.srv.Find(t.Context(), "new"); err != nil || pane.Owner != row.OwnerID || now.OwnerID != row.OwnerID || now.Conversation() != row.Conversation() {
		t.Errorf("%v: %s", err, now.JSON())
	}
	if _, err := m.row(t.Context(), "a"); !errors.Is(err, errUnregistered) {
		t.Errorf("the old row: %v", err)
	}
	if _, err := m.Stop(t.Context(), StopRequest{Session: "new"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename(t.Context(), "new", "newer"); err != nil { // tmux has nothing of it
		t.Fatal(err)
	}
	if got := r.row("newer"); got.Status != registry.Stopped {
		t.Errorf("the row: %s", got.JSON())
	}
}

// TestRestart: the same conversation goes on in another process. Where nothing was said, it begins anew.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.began()
	r.said(row.Conversation())
	done, err := m.Restart(t.Context(), RestartRequest{Stop: StopRequest{Session: "a"}})
	if err != nil || done.Row.Pane.PID == row.Pane.PID || done.Row.Conversation() != row.Conversation() || done.Anew {
		t.Fatalf("%+v, %v", done, err)
	}
	if args, want := r.began(), []string{"--resume", row.Conversation(), "--model", "a"}; !slices.Equal(args, want) {
		t.Errorf("it was started with %q, want %q", args, want)
	}
	made, err := m.Create(t.Context(), CreateRequest{Name: "c", Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	done, err = m.Restart(t.Context(), RestartRequest{Stop: StopRequest{Session: "c"}, Resume: ResumeRequest{Trust: true}})
	if err != nil || !done.Anew || done.Row.Pane.PID == made.Row.Pane.PID || done.Row.Status != registry.Running {
		t.Errorf("a program of the user's: %+v, %v", done, err)
	}
	_, err = m.Restart(t.Context(), RestartRequest{Stop: StopRequest{Session: "nobody"}})
	r.wants(err, Refused, "not in the registry")
}

// TestFork: the new session has a copy of the conversation under an id of its own, and can be resumed by it.
func TestFork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.began()
	_, _, err := m.Fork(t.Context(), ForkRequest{Name: "a"})
	r.wants(err, Nothing, "nothing was said in it yet")
	r.said(row.Conversation())
	done, _, err := m.Fork(t.Context(), ForkRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	id := done.Row.Conversation()
	if args, want := r.began(), []string{"--session-id", id, "--resume", row.Conversation(), "--fork-session", "--model", "a"}; !slices.Equal(args, want) {
		t.Errorf("it was started with %q, want %q", args, want)
	}
	if done.Row.Name != "a-fork" || id == row.Conversation() || r.row("a").Status != registry.Running {
		t.Errorf("%s", done.Row.JSON())
	}
	if alive, err := proc.Of(row.Pane.PID); err != nil || !alive.Alive() {
		t.Errorf("the other session: %v", err)
	}
	r.said(id)
	r.dies(done.Row)
	if _, err := m.Resume(t.Context(), ResumeRequest{Name: "a-fork"}); err != nil {
		t.Fatal(err)
	}
	if args := r.began(); !slices.Equal(args, []string{"--resume", id, "--model", "a"}) {
		t.Errorf("it was resumed with %q", args)
	}
	again, _, err := m.Fork(t.Context(), ForkRequest{Name: "a"})
	if err != nil || again.Row.Name != "a-fork-2" {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, _, err = m.Fork(t.Context(), ForkRequest{Name: "a", To: "a-fork"})
	r.wants(err, Refused, "already")
	_, _, err = m.Fork(t.Context(), ForkRequest{Name: "a", Conversation: address.NewUUID()})
	if err == nil || !strings.Contains(err.Error(), "keeps no conversation") {
		t.Errorf("an id that is not kept: %v", err)
	}
}

// TestForkKilled: a fork that was cut off can be made under the same name, unless its program runs.
func TestForkKilled(t *testing.T) {
	t.Parallel()
	for step, runs := range map[string]bool{"claimed": false, "made": true} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			row := r.create(m, "a")
			r.said(row.Conversation())
			r.cutOff("fork", step)
			done, _, err := m.Fork(t.Context(), ForkRequest{Name: "a", To: "b", Trust: true})
			if runs {
				r.wants(err, Refused, "there is a session of this name already")
			} else if err != nil || done.Row.Name != "b" {
				t.Fatalf("%+v, %v", done, err)
			}
			if row := r.row("b"); row.Status != registry.Running || row.Intent != nil {
				t.Errorf("the row: %s", row.JSON())
			}
			if names := r.tmux("list-sessions", "-F", "#{session_name}"); names != "a\nb" {
				t.Errorf("tmux has %q", names)
			}
		})
	}
}
