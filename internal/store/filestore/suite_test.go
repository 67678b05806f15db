package filestore

import (
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/store"
	"tutti/internal/store/storetest"
)

// open makes a store in a folder of its own, or opens what lies there.
func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatalf("Open %s with %+v: %v", path, o, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// bare makes a folder that counts as a store and holds no document, not even a sentinel: the suite lists all kinds.
func bare(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "registry"), 0o700); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestSuite(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		New: func(t testing.TB) storetest.Store {
			return open(t, bare(t), Options{CacheDir: t.TempDir()})
		},
		Reopen: func(t testing.TB, s storetest.Store) storetest.Store {
			old := s.(*Store)
			old.Close()
			return open(t, old.path, Options{CacheDir: old.cacheDir})
		},
		ReadOnly: func(t testing.TB, s storetest.Store) storetest.Store {
			return open(t, s.(*Store).path, Options{ReadOnly: true, CacheDir: t.TempDir()})
		},
		PlantDoc: func(t testing.TB, s storetest.Store, k store.Key, data []byte) {
			write(t, s.(*Store).where(k), data)
		},
		PlantLine: func(t testing.TB, s storetest.Store, k store.Key, line []byte) {
			f, err := os.OpenFile(s.(*Store).where(k), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			if err == nil {
				_, err = f.Write(append(line[:len(line):len(line)], '\n'))
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Recreate: func(t testing.TB, s storetest.Store, k store.Key, lines ...[]byte) {
			var all []byte
			for _, line := range lines {
				all = append(append(all, line...), '\n')
			}
			os.Remove(s.(*Store).where(k))
			write(t, s.(*Store).where(k), all)
		},
	})
}

// write stores a file as a foreign program does: in place, making the folder when it is missing.
func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
