package fswatch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const patience = 10 * time.Second // how long a test waits for what must come, on a busy machine

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, name string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte("x"), 0o600))
}

// collect takes events until an entry called "last" has appeared, which it makes, and merges them by name.
func collect(t *testing.T, s *Sub) map[string]Op {
	t.Helper()
	write(t, filepath.Join(s.Path(), "last"))
	got := map[string]Op{}
	limit := time.After(patience)
	for got["last"]&Created == 0 {
		select {
		case ev := <-s.C:
			if ev.Path != s.Path() {
				t.Errorf("event %+v has a path that is not %s", ev, s.Path())
			}
			got[ev.Name] |= ev.Op
		case <-limit:
			t.Fatalf("the last file was not reported; so far %v", got)
		}
	}
	delete(got, "last")
	return got
}

// wait takes events until one has the bits.
func wait(t *testing.T, s *Sub, bits Op) Event {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case ev, ok := <-s.C:
			if !ok {
				t.Fatalf("channel closed while waiting for %v", bits)
			}
			if ev.Op&bits != 0 {
				return ev
			}
		case <-limit:
			t.Fatalf("no event with %v", bits)
		}
	}
}
