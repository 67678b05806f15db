// Package bothtest runs a test of a package that works on a store twice: with files, as users have it, and in memory, with the manners
// of a remote backend. It is for tests alone.
package bothtest

import (
	"path/filepath"
	"testing"

	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
	"tutti/internal/store/storetest"
)

// Each calls test with an empty store of each kind, at the same time, in tests named files and memory.
func Each(t *testing.T, test func(t *testing.T, s storetest.Store)) {
	for name, open := range map[string]func(t *testing.T) storetest.Store{
		"files": func(t *testing.T) storetest.Store {
			s, err := filestore.Open(filepath.Join(t.TempDir(), "root"), filestore.Options{Create: true, CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		"memory": func(*testing.T) storetest.Store { return memstore.New(memstore.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}
