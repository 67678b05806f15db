package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
)

// gitLimit is how long git may take: a worktree of a large repository is written whole.
const gitLimit = 2 * time.Minute

// A worktree is a folder of its own in which an agent works on a branch.
type worktree struct {
	repo   string // top folder of the repository
	dir    string // beside it
	branch string
	fresh  bool // the branch is made, too
	made   bool
}

// planTree checks whether a worktree can be made. Its folder is beside the repository, and is called after both.
func planTree(ctx context.Context, dir, branch string) (*worktree, error) {
	refuse := func(text string, err error) error { return &Error{Kind: Refused, Text: text, Err: err} }
	if branch[0] == '-' {
		return nil, refuse(fmt.Sprintf("%.100q cannot be the name of a branch", branch), nil)
	}
	if _, err := git(ctx, dir, "check-ref-format", "--branch", branch); err != nil {
		return nil, refuse(fmt.Sprintf("%.100q cannot be the name of a branch", branch), err)
	}
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, refuse(dir+" is in no git repository, so there can be no worktree", err)
	}
	t := &worktree{repo: top, branch: branch}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == os.PathSeparator {
			return '-'
		}
		return r
	}, branch)
	t.dir = filepath.Join(filepath.Dir(top), filepath.Base(top)+"-"+name)
	switch _, err := os.Lstat(t.dir); {
	case err == nil:
		return nil, &Error{Kind: Refused, Text: t.dir + " is there already, so no worktree is made", Next: "tutti session create --workspace " + quote(t.dir)}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	_, err = git(ctx, top, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	t.fresh = err != nil
	return t, nil
}

// make makes it.
func (t *worktree) make(ctx context.Context) error {
	args := []string{"worktree", "add", "--quiet"}
	if t.fresh {
		args = append(args, "-b", t.branch, "--", t.dir)
	} else {
		args = append(args, "--", t.dir, t.branch)
	}
	if _, err := git(ctx, t.repo, args...); err != nil {
		return &Error{Kind: Refused, Text: "git made no worktree of " + t.branch, Err: err}
	}
	t.made = true
	return nil
}

// remove takes it away again, with the branch if that was new. One in which there is something stays.
func (t *worktree) remove(ctx context.Context) error {
	if t == nil || !t.made {
		return nil
	}
	if _, err := git(ctx, t.repo, "worktree", "remove", "--", t.dir); err != nil {
		return fmt.Errorf("the worktree %s stays: %w", t.dir, err)
	}
	t.made = false
	if !t.fresh {
		return nil
	}
	if _, err := git(ctx, t.repo, "branch", "--quiet", "-d", "--", t.branch); err != nil {
		return fmt.Errorf("the branch %s stays: %w", t.branch, err)
	}
	return nil
}

// json is how a row tells of it, nil for none.
func (t *worktree) json() []byte {
	if t == nil {
		return nil
	}
	var o canonjson.Object
	o.Str("path", t.dir)
	o.Str("repository", t.repo)
	o.Str("branch", t.branch)
	o.Bool("new", t.fresh)
	return o.Bytes()
}

// git runs git in a folder and returns what it prints, without the last line feed. What it says goes into the error.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook of git's that calls us means another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if line := firstLine(strings.TrimSpace(said.String())); line != "" {
			return "", errors.New(line)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// WorktreeOf is the folder of the worktree that was made for a session, "" for none.
func WorktreeOf(r *registry.Row) string {
	path, _ := canonjson.Get(r.Get(worktreeMember), "path")
	text, _ := canonjson.String(path)
	return text
}
