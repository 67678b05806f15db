package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Refusal says why nothing was done.
type Refusal struct {
	Path   string   // of the worktree
	Reason string   // a word: see the constants
	Text   string   // for people
	Files  []string // the first ones, relative to Path
}

// The reasons of refusals.
const (
	Uncommitted = "uncommitted"
	Untracked   = "untracked"
	Ignored     = "ignored"
	Unmerged    = "unmerged"
	Locked      = "locked"
	InUse       = "in use"
	Unknown     = "unknown"
	Conflict    = "conflict"
)

func (r *Refusal) Error() string {
	text := r.Path + ": " + r.Text
	if len(r.Files) > 0 {
		text += ": " + strings.Join(r.Files, ", ")
	}
	return text
}

func unknown(path string, err error) error {
	return &Refusal{Path: path, Reason: Unknown, Text: "its state is unknown: " + err.Error()}
}

// underWay are the files of git's own folder that show an operation which has not ended.
var underWay = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer", "MERGE_AUTOSTASH", "index.lock", "HEAD.lock"}

// busy names an operation of git that has not ended, "" for none.
func busy(gitDir string) (string, error) {
	for _, name := range underWay {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			return name, nil
		} else if !os.IsNotExist(err) {
			return "", err
		}
	}
	return "", nil
}

// clean refuses a worktree with uncommitted changes; untracked tells whether untracked files are such.
func (r *Repository) clean(ctx context.Context, t *Tree, untracked bool) error {
	s, err := r.State(ctx, t, "")
	if err != nil {
		return unknown(t.Path, err)
	}
	gitDir, err := Git(ctx, t.Path, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return unknown(t.Path, err)
	}
	at, err := busy(gitDir)
	switch {
	case err != nil:
		return unknown(t.Path, err)
	case at != "":
		return &Refusal{Path: t.Path, Reason: Uncommitted, Text: "an operation of git has not ended (" + at + ")"}
	case s.Changed > 0:
		return &Refusal{Path: t.Path, Reason: Uncommitted, Text: fmt.Sprintf("%d files have uncommitted changes", s.Changed)}
	case untracked && s.Untracked > 0:
		return &Refusal{Path: t.Path, Reason: Untracked, Text: fmt.Sprintf("%d files are untracked", s.Untracked)}
	}
	return nil
}

// sides are the worktree of a branch and its base, both clean.
func (r *Repository) sides(ctx context.Context, t *Tree) (base string, err error) {
	switch {
	case t.Main || t.Bare || t.Gone:
		return "", &Refusal{Path: t.Path, Reason: Unknown, Text: "it is not a linked worktree with files"}
	case t.Branch == "":
		return "", &Refusal{Path: t.Path, Reason: Unknown, Text: "it is on no branch (detached HEAD)"}
	}
	if base = r.Base(ctx, t); base == "" {
		return "", &Refusal{Path: t.Path, Reason: Unknown, Text: "the base of branch " + t.Branch + " is not known"}
	}
	return base, r.clean(ctx, t, true)
}

// Merge merges the branch of a worktree into its base, in the worktree that has the base. It returns the base and its new commit.
func (r *Repository) Merge(ctx context.Context, t *Tree) (base, head string, err error) {
	base, err = r.sides(ctx, t)
	if err != nil {
		return base, "", err
	}
	var into *Tree
	for i := range r.Trees {
		if o := &r.Trees[i]; o.Branch == base && !o.Bare && !o.Gone {
			into = o
		}
	}
	if into == nil {
		return base, "", &Refusal{Path: t.Path, Reason: Unknown, Text: "no worktree has the base " + base + " checked out"}
	}
	if err := r.clean(ctx, into, false); err != nil {
		return base, "", err
	}
	head, err = r.change(ctx, into, "merge", "-c", "merge.autoStash=false", "merge", "--quiet", "--no-edit", "refs/heads/"+t.Branch)
	return base, head, err
}

// Rebase rebases the branch of a worktree onto its base. It returns the base and the branch's new commit.
func (r *Repository) Rebase(ctx context.Context, t *Tree) (base, head string, err error) {
	base, err = r.sides(ctx, t)
	if err != nil {
		return base, "", err
	}
	head, err = r.change(ctx, t, "rebase", "-c", "rebase.updateRefs=false", "rebase", "--quiet", "--no-autostash", "refs/heads/"+base)
	return base, head, err
}

// change runs a merge or a rebase. What it cannot do is aborted, and the commit before must be there again.
func (r *Repository) change(ctx context.Context, t *Tree, verb string, args ...string) (head string, err error) {
	before, err := Git(ctx, t.Path, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", unknown(t.Path, err)
	}
	_, failed := Git(ctx, t.Path, args...)
	if failed == nil {
		return Git(ctx, t.Path, "rev-parse", "--verify", "HEAD")
	}
	ctx = context.WithoutCancel(ctx)
	names, _ := Git(ctx, t.Path, "diff", "--name-only", "--diff-filter=U", "-z")
	files := strings.FieldsFunc(names, func(c rune) bool { return c == 0 })
	_, aborted := Git(ctx, t.Path, verb, "--abort")
	after, err := Git(ctx, t.Path, "rev-parse", "--verify", "HEAD")
	if err != nil || after != before {
		return "", fmt.Errorf("%s: git %s failed (%w) and could not be aborted (%w): run \"git status\" there", t.Path, verb, failed, aborted)
	}
	if len(files) == 0 {
		return "", fmt.Errorf("%s: git %s: %w; nothing was changed", t.Path, verb, failed)
	}
	return "", &Refusal{Path: t.Path, Reason: Conflict, Text: fmt.Sprintf("conflicts in %d files; the %s was aborted and nothing was changed", len(files), verb), Files: first(files)}
}

// first are the first few names of a list.
func first(names []string) []string { return names[:min(len(names), 5)] }

// Diff returns what a worktree changes against the commit at which it left its base, and its untracked files. Without a base it is
// compared with its last commit. stat wants files and numbers of lines only.
func (r *Repository) Diff(ctx context.Context, t *Tree, base string, stat bool) (patch string, untracked []string, err error) {
	from := "HEAD"
	if base != "" {
		if from, err = Git(ctx, t.Path, "merge-base", "refs/heads/"+base, "HEAD"); err != nil {
			return "", nil, unknown(t.Path, err)
		}
	}
	format := "--patch"
	if stat {
		format = "--stat"
	}
	patch, err = Git(ctx, t.Path, "--no-optional-locks", "diff", "--no-ext-diff", "--no-textconv", "--no-color", format, from, "--")
	if err != nil {
		return "", nil, unknown(t.Path, err)
	}
	names, err := Git(ctx, t.Path, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", nil, unknown(t.Path, err)
	}
	return patch, strings.FieldsFunc(names, func(c rune) bool { return c == 0 }), nil
}
