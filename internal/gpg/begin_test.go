package gpg_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/commstest"
	"tutti/internal/gpg"
	"tutti/internal/proc"
)

// TestBegin signs what is there only after gpg has begun.
func TestBegin(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	s := home.Program().Begin(t.Context(), "alice@example.org")
	s.Take(message)
	asc, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := home.Program().Verify(t.Context(), asc, message); err != nil || !v.Valid {
		t.Errorf("got %+v, %v; want a good signature", v, err)
	}
	for key, want := range map[string]error{"": gpg.ErrNoKey, "nobody@example.org": gpg.ErrNoKey} {
		s := home.Program().Begin(t.Context(), key)
		s.Take(message)
		if _, err := s.End(); !errors.Is(err, want) {
			t.Errorf("key %q: got %v, want %v", key, err, want)
		}
	}
	missing := gpg.Program{Path: filepath.Join(t.TempDir(), "gpg")}
	s = missing.Begin(t.Context(), "alice")
	s.Take(message)
	if _, err := s.End(); err == nil {
		t.Error("a program that is not there has signed")
	}
	missing.Begin(t.Context(), "alice").Drop()
}

// TestDrop ends a gpg that waits: it is gone afterwards, and has not taken the end of its input for the end of the data.
func TestDrop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pidFile, got := filepath.Join(dir, "pid"), filepath.Join(dir, "got")
	p := script(t, "echo $$ >"+pidFile+".new; mv "+pidFile+".new "+pidFile+"; cat >/dev/null; echo signed >"+got)
	s := p.Begin(t.Context(), "alice")
	var pid int
	for pid == 0 {
		if text, err := os.ReadFile(pidFile); err == nil {
			_, _ = fmt.Sscan(string(text), &pid)
		}
		time.Sleep(time.Millisecond)
	}
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	s.Drop()
	if id.Alive() {
		t.Error("gpg still runs")
	}
	if _, err := os.Lstat(got); err == nil {
		t.Error("gpg went on without data")
	}
}
