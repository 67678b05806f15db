package gpg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// TestEarly has the text of a signature while gpg has not ended, and only its end says what the text is worth.
func TestEarly(t *testing.T) {
	t.Parallel()
	const armour = "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"
	created := "cat >/dev/null; echo '[GNUPG:] SIG_CREATED D 22 8 00 1 F' >&3; printf -- '" + strings.ReplaceAll(armour, "\n", "\\n") + "'; "
	for _, c := range []struct {
		name, end string
		want      string // what End returns, "" if it fails
	}{
		{"good", "", armour},
		{"fails afterwards", "exit 2", ""},
		{"ended by a signal", "kill -9 $$", ""},
		{"says more", "echo more", armour + "more\n"},
	} {
		gate := filepath.Join(t.TempDir(), "gate")
		p := script(t, created+"while ! [ -e '"+gate+"' ]; do sleep 0.01; done; "+c.end)
		s := p.Begin(t.Context(), "alice")
		s.Take(message)
		if got := string(s.Early()); got != armour { // or it would never come
			t.Errorf("%s: got %q early, want %q", c.name, got, armour)
		}
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if asc, err := s.End(); string(asc) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v in the end; want %q", c.name, asc, err, c.want)
		}
	}
	for name, p := range map[string]gpg.Program{"no program": {Path: filepath.Join(t.TempDir(), "gpg")}, "no signature": script(t, "cat >/dev/null; exit 2")} {
		s := p.Begin(t.Context(), "alice")
		s.Take(message)
		if got := s.Early(); got != nil {
			t.Errorf("%s: got %q early", name, got)
		}
		if _, err := s.End(); err == nil {
			t.Errorf("%s: it has signed", name)
		}
	}
}

// TestMuch gives gpg more than a pipe has room for, and one that ends before it has read it.
func TestMuch(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	much := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	asc, err := home.Program().Sign(t.Context(), "alice@example.org", much)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := home.Program().Verify(t.Context(), asc, much); err != nil || !v.Valid {
		t.Errorf("got %+v, %v; want a good signature", v, err)
	}
	if _, err := script(t, "exit 2").Sign(t.Context(), "alice", much); err == nil {
		t.Error("a program that reads nothing has signed")
	}
}

// TestLeftBehind has gpg leave a process that holds its pipes: its own end is seen all the same.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := script(t, "sleep 1000 & echo $! >"+pidFile+"; exit 0")
	t.Cleanup(func() {
		var pid int
		text, _ := os.ReadFile(pidFile)
		if _, err := fmt.Sscan(string(text), &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	s := p.Begin(t.Context(), "alice")
	s.Take(message)
	if got := s.Early(); got != nil {
		t.Errorf("got %q early", got)
	}
	if _, err := s.End(); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want that the pipes are held open", err)
	}
}
