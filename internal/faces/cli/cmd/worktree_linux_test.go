package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/test/progfile"
	"tutti/internal/test/scriptprog"
)

// TestSetupAtTerminal: session create asks at a terminal whether the set-up program of a new worktree may run. A no leaves it out and
// starts the session; a yes runs it and is remembered.
func TestSetupAtTerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: no session is created")
	}
	home := t.TempDir()
	sockets, err := os.MkdirTemp("/tmp", "ts") // the path of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endServers(sockets)
		os.RemoveAll(sockets)
	})
	repo := filepath.Join(home, "api")
	if err := errors.Join(os.Mkdir(repo, 0o700), progfile.Write(filepath.Join(repo, ".worktreesetup"), []byte("#!/bin/sh\necho done > ready.log\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "TMUX_TMPDIR=" + sockets, "TMUX_SERVER_NAME=setup", "TMUX=", "GIT_CONFIG_NOSYSTEM=1",
		scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid()),
	}
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CODEX_THREAD_ID", "CODEX_CI", "TUTTI_INSTANCE", "H2A_ROOT"} {
		env = append(env, name+"=") // who runs the test may be an agent program
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=Eva", "-c", "user.email=eva@example.org", "commit", "-qm", "one"},
	} {
		cmd := exec.Command("git", append([]string{"-C", repo}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	const question, skipped = "Run this in each new worktree? [y/N]", "was not run"
	for _, tt := range []struct {
		branch, typed, flag string
		asks, skips, ready  bool
	}{
		{"one", "n\n", "--wait=false", true, true, false},
		{"json", "y\n", "--json", false, true, false}, // the output is for a program
		{"two", "y\n", "--wait=false", true, false, true},
		{"three", "n\n", "--wait=false", false, false, true},
	} {
		shown, code := typedOnTerminal(t, 160, tt.typed, env, "session", "create", "--agent", "custom", "--session", tt.branch, "--worktree", tt.branch,
			"--workspace", repo, "--registry", filepath.Join(home, "sessions.json"), tt.flag, "--", "sleep", "1000")
		_, err := os.Stat(filepath.Join(home, "api-"+tt.branch, "ready.log"))
		if code != 0 || strings.Contains(shown, question) != tt.asks || strings.Contains(shown, skipped) != tt.skips || (err == nil) != tt.ready {
			t.Errorf("%s, typed %q: exit status %d, set up: %t\n%s", tt.branch, tt.typed, code, err == nil, shown)
		}
	}
}
