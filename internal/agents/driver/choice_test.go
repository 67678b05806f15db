package driver

import (
	"slices"
	"testing"
)

// TestConversationArguments: arguments that choose a conversation are found among others, and only there.
func TestConversationArguments(t *testing.T) {
	t.Parallel()
	const id = "01a1ffa4-c450-7d03-b99e-792f6b101b39"
	for _, c := range []struct {
		kind   string
		args   []string
		rest   []string
		id     string
		chosen bool
	}{
		{"claude", []string{"--model", "x"}, []string{"--model", "x"}, "", false},
		{"claude", []string{"--model", "x", "--session-id", id, "-v"}, []string{"--model", "x", "-v"}, id, true},
		{"claude", []string{"--resume=" + id, "--model", "x"}, []string{"--model", "x"}, id, true},
		{"claude", []string{"-r", "--model", "x"}, []string{"--model", "x"}, "", true},
		{"claude", []string{"-c"}, nil, "", true},
		{"claude", []string{"-r", id, "--fork-session"}, nil, "", true},
		{"claude", []string{"--", "-r", id}, []string{"--", "-r", id}, "", false},
		{"claude", []string{"--session-id"}, nil, "", true},
		{"codex", []string{"-c", "model=x", "resume", id, "-m", "y"}, []string{"-c", "model=x", "-m", "y"}, id, true},
		{"codex", []string{"resume", "--last"}, nil, "", true},
		{"codex", []string{"fork", id}, nil, "", true},
		{"gemini", []string{"-r", "latest", "-m", "x"}, []string{"-m", "x"}, "", true},
		{"opencode", []string{"-s", "ses_1", "--auto"}, []string{"--auto"}, "ses_1", true},
		{"agy", []string{"--conversation", id, "x"}, []string{"x"}, id, true},
		{"custom", []string{"resume", "--session-id", id}, []string{"resume", "--session-id", id}, "", false},
	} {
		d, ok := Kind(c.kind)
		if !ok {
			t.Fatal(c.kind)
		}
		rest, got, chosen := d.Life.Unchosen(c.args)
		if !slices.Equal(rest, c.rest) || got != c.id || chosen != c.chosen {
			t.Errorf("%s %q: %q, %q, %v; want %q, %q, %v", c.kind, c.args, rest, got, chosen, c.rest, c.id, c.chosen)
		}
	}
}
