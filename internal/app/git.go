package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitTime bounds the question to git: an answer takes milliseconds, and a repository on a dead network drive must not
// hold up the user.
const gitTime = 3 * time.Second

// TrackedByGit tells whether git keeps files of the folder at path, so that they come and go with a repository and
// whoever can push to it. Without a repository above, or without git, nothing is tracked. The repository's own hooks
// and monitors are switched off: it may be a stranger's.
func TrackedByGit(ctx context.Context, path string) bool {
	path, err := filepath.Abs(path)
	if err != nil || !insideWorkTree(filepath.Dir(path)) {
		return false
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"ls-files", "-z", "--cached", "--", "./"+filepath.Base(path))
	cmd.Dir = filepath.Dir(path)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GIT_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return err == nil && len(out) > 0
}

// insideWorkTree tells whether dir or one above it holds a .git entry; only then git is worth starting.
func insideWorkTree(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}
