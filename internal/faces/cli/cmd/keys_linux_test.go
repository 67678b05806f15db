package cmd

import (
	"os"
	"strings"
	"testing"
)

// A pin is the word of a person: it is asked for, and anything but a yes pins nothing.
func TestTrustPrompt(t *testing.T) {
	t.Parallel()
	const who = "claude:api:3f2a9c01b7de"
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=/nowhere", "NO_COLOR=1"}
	run := func(typed string, want int, args ...string) string {
		t.Helper()
		shown, got := typedOnTerminal(t, 100, typed, env, args...)
		if got != want {
			t.Errorf("%q, typed %q: exit status: got %d, want %d\n%s", args, typed, got, want, shown)
		}
		return shown
	}
	run("", 0, "init")
	registration := `{"id":"` + who + `","instance":"` + who + `","roles":["AGENTS"],"scopes":[],"capabilities":[],"endpoints":[],` +
		`"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`
	run("", 0, "register", registration)
	run("", 0, "keys", "generate", "--instance", who)
	run("", 0, "keys", "add", "--instance", who, "--public-key", home+"/h2a-workspace/.h2a/keys/claude-api-3f2a9c01b7de.pub.pem")
	pins := home + "/.local/state/tutti/pins"
	for _, no := range []string{"n\n", "\n", "yeah\n", "\x04"} {
		shown := run(no, 1, "keys", "trust", who)
		if !strings.Contains(shown, "pinned      none") || !strings.Contains(shown, "[y/N]") {
			t.Errorf("typed %q: the fingerprints or the question are missing:\n%s", no, shown)
		}
		if _, err := os.Stat(pins); err == nil {
			t.Fatalf("typed %q: something was pinned", no)
		}
	}
	if shown := run("y\n", 0, "keys", "trust", who); !strings.Contains(shown, "pinned: ") {
		t.Errorf("typed y: got\n%s", shown)
	}
	if _, err := os.Stat(pins); err != nil {
		t.Error(err)
	}
}
