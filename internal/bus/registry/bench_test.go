package registry_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store/filestore"
)

// BenchmarkRegistry looks up, asks for keys and registers on an empty bus and on one that a busy team filled for years.
func BenchmarkRegistry(b *testing.B) {
	for _, n := range []int{0, 100_000} {
		root := filepath.Join(b.TempDir(), "root")
		s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		var all bytes.Buffer
		for i := range n {
			fmt.Fprintf(&all, "%s\n", agent(fmt.Sprintf("claude:team%d:%012x", i%500, i)))
		}
		if err := os.MkdirAll(filepath.Join(root, "registry"), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "registry", "instances.jsonl"), all.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
		r := registry.New(s)
		one := address.NewInstance("claude", "api")
		if err := r.Register(b.Context(), agent(string(one))); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("lines=%d/keys", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Keys(b.Context(), one); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("lines=%d/register", n), func(b *testing.B) {
			for b.Loop() {
				if err := r.Register(b.Context(), agent(string(address.NewInstance("claude", "api")))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
