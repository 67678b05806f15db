package tui

import (
	"strings"
	"testing"
)

// TestWorktrees lists worktrees, and asks before one is merged or removed.
func TestWorktrees(t *testing.T) {
	r := newRig(t, 100, 24)
	dir := t.TempDir()
	for i := range r.snap.Agents {
		r.snap.Agents[i].Folder = dir
	}
	r.program(0, `[{"path":"/src/shop","branch":"main","main":true},{"path":"/src/shop-fix","branch":"fix\u001b[2J","ahead":2,"untracked":1}]`)
	r.press("w")
	r.sees("1 main")
	r.sees("+2 -0, 1 changed")
	r.press("2")
	r.sees("merge")
	r.press("x")
	r.sees("Remove ~/src/shop-fix? Its branch stays.")
	r.press("n")
	r.press("w", "2", "x", "y")
	if got := strings.Join(r.calls(), "\n"); !strings.Contains(got, "worktree remove /src/shop-fix") || strings.Contains(got, "\x1b") {
		t.Errorf("tutti was asked:\n%s", got)
	}

	r = newRig(t, 100, 24)
	for i := range r.snap.Agents {
		r.snap.Agents[i].Folder = dir
	}
	r.program(1, "⚠ HALT ACTIVE: a test\ntutti: error: not a git repository")
	r.press("w")
	r.sees("not a git repository")
	r.o.ReadOnly = "only you"
	r.program(0, `[{"path":"/src/shop-fix","branch":"fix"}]`)
	r.press("w", "1")
	if r.ask == nil || len(r.ask.fields[0].choices) != 1 {
		t.Error("a merge is offered below an agent")
	}
}
