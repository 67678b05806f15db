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

	"tutti/internal/platform/gpg"
	"tutti/internal/test/commstest"
)

// TestSignFails: a key that is not there, and a program that is not.
func TestSignFails(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	for _, key := range []string{"", "nobody@example.org"} {
		if _, err := home.Program().Sign(t.Context(), key, message); !errors.Is(err, gpg.ErrNoKey) {
			t.Errorf("key %q: got %v, want %v", key, err, gpg.ErrNoKey)
		}
	}
	missing := gpg.Program{Path: filepath.Join(t.TempDir(), "gpg")}
	if _, err := missing.Sign(t.Context(), "alice", message); err == nil {
		t.Error("a program that is not there has signed")
	}
}

// TestVerifyExitStatus: the output of gpg counts only if gpg exits with status 0.
func TestVerifyExitStatus(t *testing.T) {
	t.Parallel()
	const armour = "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"
	created := "cat >/dev/null; echo '[GNUPG:] SIG_CREATED D 22 8 00 1 F' >&3; printf -- '" + strings.ReplaceAll(armour, "\n", "\\n") + "'; "
	for _, c := range []struct {
		name, end string
		want      string // "" if it fails
	}{
		{"good", "", armour},
		{"fails afterwards", "exit 2", ""},
		{"ended by a signal", "kill -9 $$", ""},
		{"says more", "echo more", armour + "more\n"},
	} {
		asc, err := script(t, created+c.end).Sign(t.Context(), "alice", message)
		if string(asc) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", c.name, asc, err, c.want)
		}
	}
}

// TestLargeInput gives gpg more than a pipe has room for, and one that ends before it has read it.
func TestLargeInput(t *testing.T) {
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

// TestLeftoverProcess has gpg leave a process that holds its pipes: its own end is seen all the same.
func TestLeftoverProcess(t *testing.T) {
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
	if _, err := p.Sign(t.Context(), "alice", message); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want that the pipes are held open", err)
	}
}
