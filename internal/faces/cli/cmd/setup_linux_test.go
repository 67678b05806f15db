package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/test/progfile"
)

// TestSetupAsks: setup does what it has listed after a yes at the terminal, which is a yes to Codex's hooks, too, and nothing
// after any other line.
func TestSetupAsks(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	d := newSitting(t)
	stubs := t.TempDir()
	const codex = "#!/bin/sh\ncase \"$1\" in --version) echo 'codex-cli 0.169.0'; exit ;; esac\nexec cat\n"
	if err := progfile.Write(filepath.Join(stubs, "codex"), []byte(codex), 0o700); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "PATH="+stubs+":/usr/bin:/bin", "SHELL=/bin/bash")
	settings := filepath.Join(d.home, ".codex", "config.toml")
	gone := func(path string) {
		t.Helper()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v)", path, err)
		}
	}

	for _, line := range []string{"\n", "n\n", "yesterday\n"} {
		d.typed = line
		d.has(d.run(1, "setup"), "~/.codex/config.toml", "Set this up? [y/N]", "nothing was changed")
		gone(settings)
		gone(filepath.Join(d.home, ".local/bin"))
	}

	d.typed = "y\n"
	d.has(d.run(0, "setup"), "Set this up? [y/N]", "Done. Start Codex")
	written, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	d.has(string(written), "trusted_hash", filepath.Join(d.home, ".local/bin/tutti"))

	d.typed = "n\n"
	d.has(d.run(1, "setup", "--remove"), "Remove this? [y/N]", "nothing was changed")
	if after, err := os.ReadFile(settings); err != nil || string(after) != string(written) {
		t.Errorf("%s changed (%v):\n%s", settings, err, after)
	}
	d.typed = "YES\n"
	d.has(d.run(0, "setup", "--remove"), "Remove this? [y/N]", "Removed.")
	gone(settings)
	gone(filepath.Join(d.home, ".local/bin/tutti"))
}
