package keyring

import (
	"os"
	"testing"
)

// A pair that nobody was told of can be taken away; another key under its name cannot.
func TestRemove(t *testing.T) {
	t.Parallel()
	r := Open(t.TempDir())
	first, err := r.Generate(ana, false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Generate(ana, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(first); err != nil {
		t.Errorf("the key that was replaced: %v", err)
	}
	if key, err := r.Load(ana); err != nil || key.Public() != second.Key.Public() {
		t.Errorf("the other key: %v, %v", key, err)
	}
	for range 2 {
		if err := r.Remove(second); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{second.Private, second.Public} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
