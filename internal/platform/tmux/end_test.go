package tmux

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// gone waits until the server has no pane with this id any more.
func (w *world) gone(id string) {
	w.t.Helper()
	eventually(w.t, func() (string, bool) {
		snap, err := w.Panes(w.t.Context())
		if errors.Is(err, ErrAbsent) {
			return "", true
		}
		if err != nil {
			return err.Error(), false
		}
		_, there := snap.Find(id)
		return "pane " + id + " is there", !there
	})
}

func TestFindAndKillExactly(t *testing.T) {
	t.Parallel()
	w := empty(t)
	other := w.make(Spec{Name: "a-2", Owner: "x"})
	_, err := w.Find(t.Context(), "a")
	want(t, "find a when there is a-2", err, ErrAbsent)
	a := w.make(Spec{Name: "a", Owner: "y"})
	w.do("split-window", "-t", a.ID, "--", "cat", "-")
	w.do("new-window", "-t", "=a:", "--", "cat", "-")
	found, err := w.Find(t.Context(), "a")
	if err != nil || found.ID != a.ID || found.Owner != "y" {
		t.Errorf("found %+v, %v, want %s", found, err, a.ID)
	}
	if err := w.Kill(t.Context(), found); err != nil {
		t.Error(err)
	}
	w.gone(a.ID)
	_, err = w.Find(t.Context(), "a")
	want(t, "find after kill", err, ErrAbsent)
	want(t, "kill twice", w.Kill(t.Context(), found), ErrAbsent)
	if snap, err := w.Panes(t.Context()); err != nil || len(snap.Panes) != 1 || snap.Panes[0].ID != other.ID {
		t.Errorf("%+v, %v, want only %s", snap, err, other.ID)
	}
	for _, name := range []string{"", "a*", "a-", "=a-2", "$0", "%0", "a-2:", "#{session_name}", "a-2;"} {
		if p, err := w.Find(t.Context(), name); !errors.Is(err, ErrAbsent) {
			t.Errorf("%q finds %+v, %v", name, p, err)
		}
	}
	// The last session takes the server with it; the answer still comes.
	if err := w.Kill(t.Context(), other); err != nil {
		t.Error(err)
	}
	w.gone(other.ID)
}

func TestKillRefuses(t *testing.T) {
	t.Parallel()
	w := empty(t)
	p := w.make(Spec{Name: "a", Owner: "mine"})
	user := w.new("user")
	for what, c := range map[string]struct {
		change func(*Pane)
		kind   error
	}{
		"another owner":      {func(p *Pane) { p.Owner = "other" }, ErrOwner},
		"no owner":           {func(p *Pane) { p.Owner = "" }, ErrOwner},
		"owner as a pattern": {func(p *Pane) { p.Owner = "*" }, ErrOwner},
		"owner as a format":  {func(p *Pane) { p.Owner = "#{@owner_id}" }, ErrOwner},
		"another server":     {func(p *Pane) { p.Server++ }, ErrChanged},
		"another life":       {func(p *Pane) { p.Started-- }, ErrChanged},
		"another session":    {func(p *Pane) { p.Session = user.Session }, ErrOwner},
		"no session":         {func(p *Pane) { p.Session = "$99" }, ErrAbsent},
		"not listed":         {func(p *Pane) { p.Session = "a" }, nil},
		"not an id":          {func(p *Pane) { p.Session = "$0 ; kill-server" }, nil},
		"zero":               {func(p *Pane) { *p = Pane{} }, nil},
	} {
		q := p
		c.change(&q)
		if err := w.Kill(t.Context(), q); err == nil || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", what, err, c.kind)
		}
	}
	w.do("set-option", "-t", "=a:", "@owner_id", "other") // somebody took it over after it was listed
	want(t, "kill what was taken over", w.Kill(t.Context(), p), ErrOwner)
	w.do("rename-session", "-t", "=a", "renamed") // a name is no identity
	w.do("set-option", "-t", "=renamed:", "@owner_id", "mine")
	snap, err := w.Panes(t.Context())
	if err != nil || len(snap.Panes) != 2 {
		t.Fatalf("after refusals: %+v, %v", snap, err)
	}
	if err := w.Kill(t.Context(), p); err != nil {
		t.Error(err)
	}
	w.gone(p.ID)
}

// Between the look and the deed the server ended, and another one has a session and a pane with the same ids.
func TestReplacedServer(t *testing.T) {
	t.Parallel()
	w := empty(t)
	old := w.make(Spec{Name: "a", Owner: "mine"})
	if err := syscall.Kill(old.Server, syscall.SIGKILL); err != nil { // the server of this test
		t.Fatal(err)
	}
	eventually(t, func() (string, bool) {
		_, err := w.Panes(t.Context())
		return "the server is there", errors.Is(err, ErrAbsent)
	})
	want(t, "kill without a server", w.Kill(t.Context(), old), ErrAbsent)
	now := w.make(Spec{Name: "a", Owner: "mine"})
	if now.Session != old.Session || now.ID != old.ID || now.Server == old.Server {
		t.Fatalf("%+v after %+v", now, old)
	}
	want(t, "kill", w.Kill(t.Context(), old), ErrChanged)
	want(t, "key", w.Key(t.Context(), old.Ref(), "C-c"), ErrChanged)
	if p := w.pane(now.ID); p.Dead || p.PID != now.PID {
		t.Errorf("the new one is %+v", p)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", "")
	for _, bad := range [][]string{nil, {"Enter"}, {"x"}, {"Escape", "y"}, {"C-c ; kill-server"}, {"-l"}, {""}, {"c-c"}} {
		if err := w.Key(t.Context(), p.Ref(), bad...); err == nil {
			t.Errorf("%q is pressed", bad)
		}
	}
	w.do("copy-mode", "-t", p.ID)
	if err := w.Key(t.Context(), p.Ref(), "Escape"); err != nil {
		t.Error(err)
	}
	if err := w.Key(t.Context(), p.Ref(), "C-c", "C-d"); err != nil {
		t.Error(err)
	}
	if got := w.holds("got", 3); got != "\x1b\x03\x04" || w.pane(p.ID).InMode {
		t.Errorf("the program read %q; still in a mode: %t", got, w.pane(p.ID).InMode)
	}
	other := p.Ref()
	other.Command = "claude"
	want(t, "another program", w.Key(t.Context(), other, "C-c"), ErrChanged)
	w.do("select-pane", "-d", "-t", p.ID)
	want(t, "input off", w.Key(t.Context(), p.Ref(), "C-c"), ErrInputOff)
	d := w.new("d", "cat", "-")
	seen := d.Ref()
	if err := w.Key(t.Context(), seen, "C-d"); err != nil {
		t.Error(err)
	}
	w.until(d.ID, "dead", func(p Pane) bool { return p.Dead })
	want(t, "dead", w.Key(t.Context(), seen, "C-c"), ErrDead)
	want(t, "paste into a dead pane of our own", w.Paste(t.Context(), seen, strings.Repeat("x", 100)), ErrDead)
}

// TestRename: only the listed session is renamed, if its owner is unchanged and the name is free.
func TestRename(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "other", Owner: "x"})
	w.make(Spec{Name: "a", Owner: "y"})
	found, err := w.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Rename(t.Context(), found, "b_2"); err != nil {
		t.Fatal(err)
	}
	if p, err := w.Find(t.Context(), "b_2"); err != nil || p.ID != found.ID {
		t.Errorf("%+v, %v", p, err)
	}
	if err := w.Rename(t.Context(), found, "other"); err == nil || !strings.Contains(err.Error(), "duplicate session") {
		t.Errorf("a name in use: %v", err)
	}
	for _, name := range []string{"", "a.b", "-", "x ; kill-server", "#{pid}"} {
		if err := w.Rename(t.Context(), found, name); err == nil || !strings.Contains(err.Error(), "invalid name") {
			t.Errorf("%q: %v", name, err)
		}
	}
	found.Owner = "x"
	want(t, "rename with another owner", w.Rename(t.Context(), found, "c"), ErrOwner)
}
