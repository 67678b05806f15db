package exchange

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/comms/protocol"
	"tutti/internal/platform/gpg"
	"tutti/internal/test/progfile"
)

// TestRefusedSendLeavesNothing: a draft that is refused is not signed, and without a signature nothing is in the mailbox at any time.
func TestRefusedSendLeavesNothing(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	must(t, os.MkdirAll(box, 0o700))
	l.Key = "alice"
	seen := filepath.Join(r.Home, "seen")
	program := filepath.Join(r.Home, "gpg")
	look := "#!/bin/sh\ncat >/dev/null\nls -A '" + box + "' >'" + seen + "'\n"
	must(t, progfile.Write(program, []byte(look+"exit 2\n"), 0o700))
	r.GPG = gpg.Program{Path: program}
	stale := l
	stale.Text = note{conv: "talk", kind: "progress", seq: 1}.text()
	r.fails(stale, BadDraft, protocol.CodeFirstSequence)
	if _, err := os.Lstat(seen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gpg was given a draft that is refused: %v", err)
	}
	for what, end := range map[string]string{
		"gpg fails": "exit 2\n",
		"gpg fails after it has printed a signature": "echo '[GNUPG:] SIG_CREATED D 22 8 00 1 F' >&3\n" +
			"printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\nexit 2\n",
	} {
		must(t, progfile.Write(program, []byte(look+end), 0o700))
		r.fails(l, General, CodeSigning)
		if data, err := os.ReadFile(seen); err != nil || len(data) > 0 {
			t.Errorf("%s: while it signs the mailbox has %q, %v", what, data, err)
		}
		only(t, box)
		if _, err := os.Stat(r.StatePath("sent")); err == nil {
			t.Errorf("%s: there is a record of sends", what)
		}
	}
}
