package filestore

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tutti/internal/store"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "bus"), Options{Create: true})
}

func create(t testing.TB, s *Store, k store.Key, data string) store.Rev {
	t.Helper()
	rev, err := s.Create(t.Context(), k, []byte(data))
	if err != nil {
		t.Fatalf("Create %v of %q: %v", k, data, err)
	}
	return rev
}

func get(t testing.TB, s *Store, k store.Key) string {
	t.Helper()
	d, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatalf("Get %v: %v", k, err)
	}
	return string(d.Data)
}

// content reads a file of a store past the store.
func content(t testing.TB, s *Store, rel string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.path, rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tree is what a folder looks like: a line for each entry with everything that a program could have changed.
func tree(t testing.TB, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		all = append(all, fmt.Sprintf("%s mode %o size %d inode %d written %d changed %d", strings.TrimPrefix(path, root),
			st.Mode, st.Size, st.Ino, st.Mtim.Nano(), st.Ctim.Nano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantTree(t testing.TB, what, root string, want []string) {
	t.Helper()
	if got := tree(t, root); !slices.Equal(got, want) {
		t.Errorf("%s changed the folder:\n%s\nwas\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// entries are the names in a folder below the root, sorted.
func entries(t testing.TB, s *Store, rel string) []string {
	t.Helper()
	found, err := os.ReadDir(filepath.Join(s.path, rel))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// temps are the temporary files anywhere in a store.
func temps(t testing.TB, s *Store) []string {
	t.Helper()
	return slices.DeleteFunc(tree(t, s.path), func(line string) bool { return !strings.Contains(line, ".tutti-") })
}
