package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 10, 4, 0, 0, time.UTC)

// bus makes the least that counts as a bus at path.
func bus(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path, "registry"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// world is a home folder and a way to ask from a folder in it.
type world struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newWorld(t *testing.T) *world {
	home := filepath.Join(t.TempDir(), "home of ana")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return &world{t, home, map[string]string{}}
}

func (w *world) app(dir, flag string) *App {
	w.t.Helper()
	path := filepath.Join(w.home, dir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return New(Settings{Root: flag, Home: w.home, Dir: path, Getenv: func(k string) string { return w.env[k] }})
}

func (w *world) expect(a *App, source Source, path string) *Root {
	w.t.Helper()
	r, err := a.Root()
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Source != source || r.Path != path {
		w.t.Errorf("root from %s: got %s (%s), want %s (%s)", a.set.Dir, r.Path, r.Source, path, source)
	}
	return r
}

func TestRootOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	standard := filepath.Join(w.home, defaultRoot)
	w.expect(w.app("p/deep", ""), FromDefault, standard)

	near := bus(t, filepath.Join(w.home, "p/.h2a"))
	r := w.expect(w.app("p/deep", ""), FromDefault, standard)
	if len(r.Passed) != 1 || r.Passed[0].Path != near || r.Passed[0].Replaced {
		t.Errorf("passed by: got %v, want the bus that is not accepted", r.Passed)
	}
	if _, err := w.app("p", "").Accept(near, now); err != nil {
		t.Fatal(err)
	}
	w.expect(w.app("p/deep", ""), FromDir, near)
	w.expect(w.app("elsewhere", ""), FromDefault, standard)

	// a nearer one that is not accepted is passed by, an accepted one above it is taken
	bus(t, filepath.Join(w.home, "p/deep/.h2a"))
	if r := w.expect(w.app("p/deep/er", ""), FromDir, near); len(r.Passed) != 1 {
		t.Errorf("passed by: got %v, want the nearer one", r.Passed)
	}

	w.env["H2A_ROOT"] = "some/where"
	w.expect(w.app("p", ""), FromEnv, "some/where")
	w.expect(w.app("p", "./flag"), FromFlag, "./flag")
}

// TestRootStopsAtHome: folders above the home folder belong to others and are not searched.
func TestRootStopsAtHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	above := bus(t, filepath.Join(filepath.Dir(w.home), ".h2a"))
	a := w.app("p", "")
	if _, err := a.Accept(above, now); err != nil {
		t.Fatal(err)
	}
	if r := w.expect(w.app("p", ""), FromDefault, filepath.Join(w.home, defaultRoot)); len(r.Passed) != 0 {
		t.Errorf("looked above the home folder: %v", r.Passed)
	}
	// a bus in the home folder itself counts
	own := bus(t, filepath.Join(w.home, ".h2a"))
	if _, err := a.Accept(own, now); err != nil {
		t.Fatal(err)
	}
	w.expect(w.app("p", ""), FromDir, own)
}

// TestRootInWorkspace: the default bus needs no consent, even inside a workspace.
func TestRootInWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	standard := bus(t, filepath.Join(w.home, defaultRoot))
	if r := w.expect(w.app("h2a-workspace/x", ""), FromDefault, standard); len(r.Passed) != 0 {
		t.Errorf("the default was passed by: %v", r.Passed)
	}
}

func TestConsentIsForOneFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	standard := filepath.Join(w.home, defaultRoot)
	near := bus(t, filepath.Join(w.home, "p/.h2a"))
	if _, err := w.app("p", "").Accept(near, now); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(near, near+".old"); err != nil {
		t.Fatal(err)
	}
	bus(t, near)
	r := w.expect(w.app("p", ""), FromDefault, standard)
	if len(r.Passed) != 1 || !r.Passed[0].Replaced || !strings.Contains(r.Passed[0].String(), "another folder") {
		t.Errorf("another folder in its place: got %v", r.Passed)
	}
	// the accepted one is found through a link, and only as itself
	if err := os.RemoveAll(near); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(near+".old", near); err != nil {
		t.Fatal(err)
	}
	w.app("q", "")
	if err := os.Symlink(near, filepath.Join(w.home, "q/.h2a")); err != nil {
		t.Fatal(err)
	}
	w.expect(w.app("q", ""), FromDir, near)

	if _, err := w.app("p", "").Drop(near, now); err != nil {
		t.Fatal(err)
	}
	w.expect(w.app("p", ""), FromDefault, standard)
	if _, err := w.app("p", "").Drop(near, now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("drop twice: got %v, want not found", err)
	}
}

func TestTellOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bus(t, filepath.Join(w.home, "p/.h2a"))
	for turn, want := range []int{1, 0, 0} {
		a := w.app("p", "")
		w.expect(a, FromDefault, filepath.Join(w.home, defaultRoot))
		if got := a.TellOnce(now); len(got) != want {
			t.Errorf("turn %d: told of %v, want %d", turn, got, want)
		}
	}
}

// TestRootsListPermissions: a list that another user could have written accepts no root.
func TestRootsListPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	near := bus(t, filepath.Join(w.home, "p/.h2a"))
	if _, err := w.app("p", "").Accept(near, now); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(w.home, ".local/state/tutti/roots")
	if info, err := os.Stat(list); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the list: got %v, %v, want 0600", info.Mode(), err)
	}
	for _, spoil := range []func() error{
		func() error { return os.Chmod(list, 0o620) },
		func() error { return os.Chmod(list, 0o602) },
		func() error {
			if err := os.Rename(list, list+"2"); err != nil {
				return err
			}
			if err := os.Chmod(list+"2", 0o600); err != nil {
				return err
			}
			return os.Symlink(list+"2", list)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.app("p", "").Roots(); err == nil {
			t.Error("the list was believed")
		}
		w.expect(w.app("p", ""), FromDefault, filepath.Join(w.home, defaultRoot))
	}
}

func TestParseRoots(t *testing.T) {
	t.Parallel()
	text := "accepted 1 2 2026-03-01T10:04:00Z \"/a b/\\n.h2a\"\n" +
		"no record at all\n" +
		"accepted x 2 2026-03-01T10:04:00Z \"/x\"\n" +
		"named 1 3 2026-03-01T10:04:00Z \"/c\"\n" +
		"accepted 1 4 2026-03-01T10:04:00Z \"/d\"\n" +
		"dropped 1 4 2026-03-01T10:04:00Z \"/d\"\n" +
		"accepted 1 2 2026-03-01T10:04:00Z \"/cut"
	r := parseRoots(text)
	if got := r.Accepted(); len(got) != 1 || got[0].Path != "/a b/\n.h2a" || got[0].ID != (FolderID{1, 2}) || !got[0].At.Equal(now) {
		t.Errorf("accepted: got %v, want the first line only", got)
	}
	for _, tc := range []struct {
		path string
		id   FolderID
		want consent
	}{
		{"/a b/\n.h2a", FolderID{1, 2}, accepted},
		{"/a b/\n.h2a", FolderID{1, 9}, replaced},
		{"/c", FolderID{1, 3}, named},
		{"/c", FolderID{1, 4}, unknown},
		{"/d", FolderID{1, 4}, unknown},
		{"/cut", FolderID{1, 2}, unknown},
	} {
		if got := r.state(tc.path, tc.id); got != tc.want {
			t.Errorf("state of %q %v: got %d, want %d", tc.path, tc.id, got, tc.want)
		}
	}
}

func TestOtherRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	standard := bus(t, filepath.Join(w.home, defaultRoot))
	near := bus(t, filepath.Join(w.home, "p/.h2a"))
	if _, err := w.app("p", "").Accept(near, now); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		dir, flag string
		want      []string
	}{
		{"p", "", []string{standard}},
		{"elsewhere", "", nil},
		{"p", standard, []string{near}},
		{"p", near, nil},
	} {
		if got := w.app(tc.dir, tc.flag).OtherRoots(); strings.Join(got, "|") != strings.Join(tc.want, "|") {
			t.Errorf("from %s with --root %q: got %v, want %v", tc.dir, tc.flag, got, tc.want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.app("p", "")
	_, err := a.Open(Reading)
	var none *NoBusError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "~/h2a-workspace/.h2a (the default") {
		t.Errorf("reading where there is no bus: got %v", err)
	}
	if _, err := a.Open(Writing); !errors.As(err, &none) {
		t.Errorf("writing where there is no bus: got %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.home, "h2a-workspace")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	s, err := a.Open(Creating)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s, err = w.app("p", "").Open(Reading); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestQuoteArg(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"/srv/a.b_c-d", "/srv/a.b_c-d"}, {"", "''"}, {"a b", "'a b'"}, {"it's", `'it'\''s'`}, {"~x", "'~x'"}, {"-x", "'-x'"}, {"$(x)", "'$(x)'"},
	} {
		if got := QuoteArg(tc.in); got != tc.want {
			t.Errorf("QuoteArg(%q): got %s, want %s", tc.in, got, tc.want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	a := New(Settings{Home: "/home/ana"})
	for _, tc := range []struct{ in, want string }{
		{"/home/ana/x", "~/x"}, {"/home/ana", "~"}, {"/home/anabel/x", "/home/anabel/x"}, {"rel", "rel"},
	} {
		if got := a.Shown(tc.in); got != tc.want {
			t.Errorf("Shown(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}
