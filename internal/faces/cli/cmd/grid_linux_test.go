package cmd

import (
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// On a terminal that is too narrow for a list each message still shows its text, and nothing that is said once is cut.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	shown := onTerminal(t, 60, env, "connect", "--host", "codex", "--name", "bob")
	flat := strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{"tutti host setup --host codex", "as this agent in this shell, or add --as to each command: export TUTTI_INSTANCE=codex:bob:"} {
		if !strings.Contains(flat, want) {
			t.Errorf("connect does not say %q:\n%s", want, shown)
		}
	}
	onTerminal(t, 60, env, "send", "codex:bob", "the schema changed")
	onTerminal(t, 60, env, "send", "codex:bob", strings.Repeat("long text ", 40))
	for _, columns := range []uint16{40, 60, 80, 100} {
		shown := onTerminal(t, columns, env, "inbox", "--instance", "codex:bob")
		if !strings.Contains(shown, "the schema changed") || !strings.Contains(shown, "…") {
			t.Errorf("%d columns: the short text is cut, or the long one is not:\n%s", columns, shown)
		}
		for line := range strings.Lines(shown) {
			if w := kit.Width(strings.TrimRight(line, "\r\n")); w > int(columns) {
				t.Errorf("%d columns: a line takes %d: %q", columns, w, line)
			}
		}
	}
}

// Sentences are broken between words.
func TestSentencesOnTerminal(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	onTerminal(t, 60, env, "init")
	for _, args := range [][]string{{"status"}, {"discover"}, {"halt", "--no-stop-watcher"}, {"outbox", "--instance", "codex:bob"}} {
		shown := onTerminal(t, 60, env, args...)
		for line := range strings.Lines(shown) {
			if w := kit.Width(strings.TrimRight(line, "\r\n")); w > 60 {
				t.Errorf("%q: a line takes %d columns: %q", args, w, line)
			}
		}
	}
}
