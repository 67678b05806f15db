package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestDirRefusesWritableByOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o755, 0o770, 0o701} {
		path := filepath.Join(dir, fmt.Sprint(mode))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := MakeDir(path); !errors.Is(err, ErrUnsafe) {
			t.Errorf("mode %o: %v, want ErrUnsafe", mode, err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeDir(link); err == nil {
		t.Error("a link was taken for the cache folder")
	}
	d := openDir(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(d.path, "x.rows")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.OpenTable("x", scope); !errors.Is(err, ErrBad) {
		t.Errorf("a link in place of a table: %v, want ErrBad", err)
	}
}

func TestFilesArePrivateAndSwept(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	old := filepath.Join(d.path, tempPrefix+"crashed")
	young := filepath.Join(d.path, tempPrefix+"writing")
	for _, p := range []string{old, young} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, moreFrom)); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, _ := os.ReadDir(d.path)
	for _, e := range entries {
		names = append(names, e.Name())
		if i, _ := e.Info(); i.Mode() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", e.Name(), i.Mode())
		}
	}
	if want := []string{tempPrefix + "writing", "x.rows"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

// TestWriteFails: nothing is left behind and the old table stays.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, 3)); err != nil {
		t.Fatal(err)
	}
	s := d.create(10)
	s.add([]byte("short"))
	if err := s.commit("x.rows", 10); err == nil {
		t.Error("a short file was committed")
	}
	if all, _, _, err := readAll(d, "x", scope); err != nil || len(all) != 3 {
		t.Errorf("%d rows, %v; want the old 3", len(all), err)
	}
	if entries, _ := os.ReadDir(d.path); len(entries) != 1 {
		t.Errorf("%d files left, want 1", len(entries))
	}
}
