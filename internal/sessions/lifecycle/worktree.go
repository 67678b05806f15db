package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
	trees "tutti/internal/sessions/worktree"
)

// A worktree is a folder of its own in which an agent works on a branch.
type worktree struct {
	repo   string // top folder of the repository
	dir    string // beside it
	branch string
	base   string // the branch from which a new one begins; "" for a detached HEAD
	fresh  bool   // the branch is made, too
	made   bool
}

// planTree checks whether a worktree can be made. Its folder is beside the repository, and is called after both.
func planTree(ctx context.Context, dir, branch string) (*worktree, error) {
	refuse := func(text string, err error) error { return &Error{Kind: Refused, Text: text, Err: err} }
	if branch[0] == '-' {
		return nil, refuse(fmt.Sprintf("%.100q cannot be the name of a branch", branch), nil)
	}
	if _, err := trees.Git(ctx, dir, "check-ref-format", "--branch", branch); err != nil {
		return nil, refuse(fmt.Sprintf("%.100q cannot be the name of a branch", branch), err)
	}
	top, err := trees.Git(ctx, dir, "rev-parse", "--show-toplevel")
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
	_, err = trees.Git(ctx, top, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	t.fresh = err != nil
	t.base, _ = trees.Git(ctx, top, "symbolic-ref", "--quiet", "--short", "HEAD") // detached: the branch has no base
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
	if _, err := trees.Git(ctx, t.repo, args...); err != nil {
		return &Error{Kind: Refused, Text: "git made no worktree of " + t.branch, Err: err}
	}
	t.made = true
	if !t.fresh || t.base == "" {
		return nil
	}
	return trees.SetBase(ctx, t.repo, t.branch, t.base)
}

// remove takes it away again, with the branch if that was new. One in which there is something stays.
func (t *worktree) remove(ctx context.Context) error {
	if t == nil || !t.made {
		return nil
	}
	r, err := trees.Open(ctx, t.repo)
	if err != nil {
		return fmt.Errorf("the worktree %s stays: %w", t.dir, err)
	}
	tree, err := r.Find(t.dir)
	if err == nil && tree != nil {
		err = r.Remove(ctx, tree)
	}
	if err != nil {
		return fmt.Errorf("the worktree stays: %w", err)
	}
	t.made = false
	if !t.fresh {
		return nil
	}
	if _, err := trees.Git(ctx, t.repo, "branch", "--quiet", "-d", "--", t.branch); err != nil {
		return fmt.Errorf("the branch %s stays: %w", t.branch, err)
	}
	return nil
}

// prepareTree copies the files that the repository names into the new worktree, and runs its set-up program if the user has accepted
// exactly its content.
func (c *creation) prepareTree(ctx context.Context) error {
	copied, left, err := trees.Include(ctx, c.tree.repo, c.tree.dir)
	if err != nil {
		return &Error{Kind: Refused, Text: "the files for the new worktree could not be copied", Err: err}
	}
	if len(copied)+left > 0 {
		c.m.o.Tell(fmt.Sprintf("%s: %d files copied, %d left out", trees.IncludeFile, len(copied), left))
	}
	setup, err := trees.SetupOf(c.tree.dir)
	if setup == nil || err != nil {
		return err
	}
	known := false
	if c.m.o.Started.Known != nil {
		if known, err = c.m.o.Started.Known(setup.Mark()); err != nil {
			return err
		}
	}
	if !known {
		if known, err = c.acceptSetup(setup); err != nil {
			return err
		}
	}
	if !known {
		c.m.o.Tell(trees.SetupFile + " was not run, because you have not accepted it: tutti worktree accept " + quote(c.tree.dir))
		return nil
	}
	if err := setup.Run(ctx, c.tree.repo, c.m.o.Environ); err != nil {
		return &Error{Kind: Refused, Text: "the set-up of the new worktree failed", Err: err}
	}
	return nil
}

// acceptSetup asks the user whether a set-up program may run. The answer may take a while, in which a halt can come or the file can change.
func (c *creation) acceptSetup(setup *trees.Setup) (bool, error) {
	o := &c.m.o
	if o.Accept == nil || o.Started.Remember == nil || !o.Accept(setup) {
		return false, nil
	}
	if err := o.Halted(); err != nil {
		return false, err
	}
	if now, err := trees.SetupOf(c.tree.dir); err != nil || now == nil || now.Mark() != setup.Mark() {
		return false, err
	}
	return true, o.Started.Remember(setup.Mark())
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

// WorktreeOf is the folder of the worktree that was made for a session, "" for none.
func WorktreeOf(r *registry.Row) string {
	path, _ := canonjson.Get(r.Get(worktreeMember), "path")
	text, _ := canonjson.String(path)
	return text
}
