package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

// swept runs the tests and removes the keys that they have made.
type swept struct{ *testing.M }

func (s swept) Run() int { return commstest.Main(s.M) }

// The verbs of conversations between projects, with the real gpg.
func TestCommsScripts(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("the scripts start programs that have one goroutine each; package comms is run with the detector")
	}
	ring := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	alice := commstest.Fingerprint(t, commstest.Alice)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/comms",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home, fake := filepath.Join(e.WorkDir, "home of ana"), filepath.Join(e.WorkDir, "fake")
			for _, dir := range []string{home, fake} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			e.Setenv("HOME", home)
			e.Setenv("GNUPGHOME", ring.Home)
			e.Setenv("GPG_USER", "")
			e.Setenv("FINGERPRINT", alice)
			e.Setenv("CROSS_AGENT_FROM", "")
			e.Setenv("TZ", "UTC")
			e.Setenv("FAKE_SYSTEMCTL", "")
			e.Setenv("PATH", fake+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Cd = home
			return progfile.Write(filepath.Join(fake, "systemctl"), []byte(fakeSystemctl), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": cmdStatus, "isjson": cmdIsJSON, "waitfor": cmdWaitFor},
	})
}

// TestCommsPage: every command on the page for users is valid, and the page names every setting.
func TestCommsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "comms.md"))
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    $ ")
		if !ok {
			continue
		}
		typed++
		if in, err := kit.Parse(verbs, kit.Tutti, "", quotedFields(command)[1:]); err != nil || in.Verb == nil {
			t.Errorf("%q: does not work: %v", command, err)
		}
	}
	if typed < 12 {
		t.Errorf("only %d lines to type were found", typed)
	}
}
