package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
)

func TestWorld(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := New(Settings{Home: home, Dir: home, Getenv: func(string) string { return "" }})
	var none *NoBusError
	if _, err := a.World(Reading); !errors.As(err, &none) {
		t.Fatalf("reading where there is no bus: got %v, want a NoBusError", err)
	}
	w, err := a.World(Creating)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx := context.Background()
	r, err := w.Identity.Connect(ctx, identity.Request{Host: "codex", Name: "api", Place: a.Workplace()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	found, err := w.Book.Resolve(ctx, string(r.Instance), time.Now())
	if err != nil || found.Unknown {
		t.Errorf("the address book does not know %s, whom the identities have just made: %+v, %v", r.Instance, found, err)
	}
	if key, err := w.Ring.Load(r.Instance); err != nil || filepath.Dir(r.PrivateKeyPath) != filepath.Join(home, defaultRoot, "keys") {
		t.Errorf("key of %s: got %v, %v in %s", r.Instance, key != nil, err, r.PrivateKeyPath)
	}
	if live, err := w.live(ctx, r.Instance); live || err != nil {
		t.Errorf("live: got %v, %v, want no session", live, err)
	}
	if err := w.Pins.Pin(r.Instance, publicOf(t, w, r.Instance), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(home, ".local/state/tutti/pins")); err != nil {
		t.Errorf("the pins do not lie with the user: %v", err)
	}
}

func publicOf(t *testing.T, w *World, i address.Instance) [32]byte {
	t.Helper()
	p, err := w.Ring.Public(i)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A name is that of the agent, in any spelling, and the last one counts.
func TestNames(t *testing.T) {
	t.Parallel()
	a := New(Settings{Home: t.TempDir()})
	const one, two = address.Instance("claude:api:3f2a9c01b7de"), address.Instance("codex:web:0a1b2c3d4e5f")
	if got := a.RememberedName(one); got != "" {
		t.Errorf("before: got %q", got)
	}
	for _, step := range []struct {
		who  address.Instance
		name string
	}{{one, "first"}, {two, "other \"quoted\"\n"}, {"Claude:API:3F2A9C01B7DE", "second"}} {
		if err := a.RememberName(step.who, step.name, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for who, want := range map[address.Instance]string{one: "second", two: "other \"quoted\"\n", "a:b": ""} {
		if got := a.RememberedName(who); got != want {
			t.Errorf("name of %s: got %q, want %q", who, got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := New(Settings{Dir: link, Getenv: func(name string) string { return "<" + name + ">" }}).Facts()
	if at := f.Place(); at.Path != real || at.Machine == "" {
		t.Errorf("place: got %+v, want %s by its real path, and a machine", at, real)
	}
	if f.Login() == "" || f.Env("X") != "<X>" {
		t.Errorf("login %q, environment %q", f.Login(), f.Env("X"))
	}
	above := f.Ancestors()
	if len(above) == 0 || above[0].ID.PID != os.Getppid() || above[0].Comm == "" {
		t.Errorf("ancestors: got %+v, want the parent %d first", above, os.Getppid())
	}
}
