package comms

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/conversation"
	"tutti/internal/gpg"
)

// TestSendLeavesNothing refuses a draft while gpg waits for it, and has a gpg fail while the text is staged already.
func TestSendLeavesNothing(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	must(t, os.MkdirAll(box, 0o700))
	l.Key = "alice"
	seen := filepath.Join(r.Home, "seen")
	program := filepath.Join(r.Home, "gpg")
	// It tells what lies in the mailbox while it signs.
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ncat >/dev/null\nfor i in 1 2 3 4 5 6 7 8 9 10; do\n"+
		"ls -A '"+box+"' | grep . >'"+seen+"' && break; sleep 0.5; done\nexit 2\n"), 0o700))
	r.GPG = gpg.Program{Path: program}
	stale := l
	stale.Text = note{conv: "talk", kind: "progress", seq: 1}.text()
	r.fails(stale, BadDraft, conversation.CodeFirstSequence)
	if _, err := os.Lstat(seen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gpg was given a draft that is refused: %v", err)
	}
	r.fails(l, General, CodeSigning)
	data, err := os.ReadFile(seen)
	if err != nil || !strings.HasPrefix(string(data), tempStart) {
		t.Errorf("while gpg signs the mailbox has %q, %v; want the text under a temporary name", data, err)
	}
	only(t, box)
	if _, err := os.Stat(r.StatePath("sent")); err == nil {
		t.Error("there is a record of sends")
	}
	// One that fails when its signature is there already has made none.
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED D 22 8 00 1 F' >&3\n"+
		"printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\nfor i in 1 2 3 4 5 6 7 8 9 10; do\n"+
		"ls -A '"+box+"' | grep 'asc$' >'"+seen+"' && break; sleep 0.5; done\nexit 2\n"), 0o700))
	r.fails(l, General, CodeSigning)
	data, err = os.ReadFile(seen)
	if err != nil || !strings.HasPrefix(string(data), tempStart) {
		t.Errorf("while gpg ends the mailbox has %q, %v; want the signature under a temporary name", data, err)
	}
	only(t, box)
}
