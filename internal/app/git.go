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

// TrackedByGit tells whether git keeps files of the folder at path, so that everyone who can push to its repository can change
// them. Without a repository above, or without git, nothing is tracked.
func TrackedByGit(ctx context.Context, path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	out, ok := askGit(ctx, filepath.Dir(path), "ls-files", "-z", "--cached", "--", "./"+filepath.Base(path))
	return ok && out != ""
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

// Repository is what git says of a folder: the root commits of its history, and the name of its linked work tree, "" for the
// main one. ok is false without git, outside of a repository, and where git is too slow.
func Repository(ctx context.Context, dir string) (roots []string, worktree string, ok bool) {
	out, ok := askGit(ctx, dir, "rev-list", "--max-parents=0", "HEAD")
	if roots = strings.Fields(out); !ok || len(roots) == 0 {
		return nil, "", false
	}
	out, ok = askGit(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	dirs := strings.Fields(out)
	if !ok || len(dirs) != 2 { // a path with a blank in it: no guess
		return nil, "", false
	}
	if dirs[0] != dirs[1] {
		worktree = filepath.Base(dirs[0])
	}
	return roots, worktree, true
}

// askGit returns what git prints about a folder, whose own hooks and monitors are switched off: it may be a stranger's. ok is false where git
// does not say.
func askGit(ctx context.Context, dir string, args ...string) (out string, ok bool) {
	git, err := exec.LookPath("git")
	if err != nil || !insideWorkTree(dir) {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, append([]string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GIT_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	return string(text), err == nil
}
