package hook

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/halt"
)

// haltedFor is a switch that is on: a hook then opens no bus.
func haltedFor() halt.State { return halt.State{Halted: true, Reason: "fuzz", Path: "/x"} }

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestReadInput(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20, driver.MaxHook} {
		r, w := pipe(t)
		want := bytes.Repeat([]byte("x"), size)
		go func() {
			_, _ = w.Write(want)
			w.Close()
		}()
		if got, err := ReadInput(r, time.Minute); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	// A file is an input as well.
	path := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := ReadInput(f, time.Minute); err != nil || string(got) != "{}" {
		t.Errorf("a file: %q, %v", got, err)
	}
}

// The whole of what is too large is taken, so that its writer does not fail.
func TestReadInputTooLarge(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	wrote := make(chan error, 1)
	go func() {
		_, err := w.Write(bytes.Repeat([]byte("x"), 50<<20))
		wrote <- errors.Join(err, w.Close())
	}()
	if _, err := ReadInput(r, time.Minute); !errors.Is(err, driver.ErrInput) {
		r.Close() // or the writer would wait for a reader for ever
		t.Errorf("50 MiB: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("its writer: %v", err)
	}
}

// An input that never begins, and one that never ends.
func TestReadInputEndless(t *testing.T) {
	t.Parallel()
	for _, begins := range []bool{false, true} {
		r, w := pipe(t)
		if begins {
			if _, err := w.WriteString(`{"session_id":`); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := ReadInput(r, 50*time.Millisecond); !errors.Is(err, ErrNoInput) {
			t.Errorf("begins %v: %v", begins, err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("begins %v: it took %v", begins, took)
		}
	}
}

func TestReadInputClosed(t *testing.T) {
	t.Parallel()
	r, _ := pipe(t)
	r.Close()
	if _, err := ReadInput(r, time.Second); err == nil {
		t.Error("a closed input is read")
	}
}
