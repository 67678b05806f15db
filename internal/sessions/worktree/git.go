package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// gitLimit is how long one command of git may take: a large repository is written whole.
const gitLimit = 2 * time.Minute

// Git runs git in a folder and returns what it prints, without the last line feed. What it says on standard error becomes the error.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gitInput(ctx, dir, "", args...)
	return strings.TrimSuffix(out, "\n"), err
}

// gitInput is Git with an input, and returns what git prints unchanged.
func gitInput(ctx context.Context, dir, input string, args ...string) (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook of git's that calls us means another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); line != "" {
			return string(out), errors.New(line)
		}
		return string(out), fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
