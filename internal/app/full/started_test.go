package full

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/app"
)

func TestStarted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := app.New(app.Settings{Home: home})
	s := Started(a)
	if yes, err := s.Known("a\x00b"); yes || err != nil {
		t.Fatalf("before: %v, %v", yes, err)
	}
	for range 2 {
		if err := s.Remember("a\x00b"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remember("secret"); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{"a\x00b": true, "secret": true, "a": false, "": false} {
		if yes, err := s.Known(command); yes != want || err != nil {
			t.Errorf("%q: %v, %v", command, yes, err)
		}
	}
	path := filepath.Join(home, ".local/state/tutti/started")
	text, err := os.ReadFile(path)
	info, e := os.Stat(path)
	if err != nil || e != nil || strings.Count(string(text), "\n") != 2 || strings.Contains(string(text), "secret") || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v, %v", text, info.Mode(), err, e)
	}
}
