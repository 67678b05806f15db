package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// baseSetting is the member of a branch's git settings that names the branch from which the branch began.
const baseSetting = "tutti-base"

// A Repository is a git repository with its worktrees.
type Repository struct {
	Common string // the folder of git that all worktrees share
	Trees  []Tree // the main one first
}

// A Tree is one worktree as git lists it.
type Tree struct {
	Path   string
	Head   string // commit, "" for a branch without commits
	Branch string // "" for a detached HEAD
	Main   bool
	Bare   bool
	Locked bool
	Reason string // for the lock
	Gone   bool   // git knows it, and the folder is not there
}

// ErrNoRepository means that a folder is in no repository.
var ErrNoRepository = errors.New("the folder is not in a git repository")

// Open reads the worktrees of the repository that contains dir.
func Open(ctx context.Context, dir string) (*Repository, error) {
	common, err := Git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil && strings.Contains(err.Error(), "not a git repository") {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	}
	if err != nil {
		return nil, fmt.Errorf("worktrees of %s: %w", dir, err)
	}
	text, err := Git(ctx, dir, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, fmt.Errorf("worktrees of %s: %w", dir, err)
	}
	r := &Repository{Common: common}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if word == "worktree" {
			r.Trees = append(r.Trees, Tree{Path: rest, Main: len(r.Trees) == 0})
			continue
		}
		if len(r.Trees) == 0 {
			continue
		}
		switch t := &r.Trees[len(r.Trees)-1]; word {
		case "HEAD":
			if strings.Trim(rest, "0") != "" {
				t.Head = rest
			}
		case "branch":
			t.Branch = strings.TrimPrefix(rest, "refs/heads/")
		case "bare":
			t.Bare = true
		case "locked":
			t.Locked, t.Reason = true, rest
		case "prunable":
			t.Gone = true
		}
	}
	return r, nil
}

// Find returns the linked worktree with that branch, folder or last part of a folder; nil for none. Several are an error.
func (r *Repository) Find(name string) (*Tree, error) {
	var found []*Tree
	path, _ := filepath.Abs(name)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for i := range r.Trees {
		if t := &r.Trees[i]; t.Path == real {
			return t, nil
		} else if !t.Main && (t.Branch == name || filepath.Base(t.Path) == name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s names several worktrees: %s and %s", name, found[0].Path, found[1].Path)
}

// SetBase records from which branch a new branch began.
func SetBase(ctx context.Context, repo, branch, base string) error {
	_, err := Git(ctx, repo, "config", "branch."+branch+"."+baseSetting, base)
	return err
}

// Base is the branch to which a worktree goes back: the recorded one, else the branch of the main worktree; "" for none.
func (r *Repository) Base(ctx context.Context, t *Tree) string {
	if t.Branch == "" || t.Main {
		return ""
	}
	base, err := Git(ctx, r.Common, "config", "--get", "branch."+t.Branch+"."+baseSetting)
	if err != nil || base == "" {
		base = r.Trees[0].Branch
	}
	if base == t.Branch || strings.HasPrefix(base, "-") {
		return ""
	}
	if _, err := Git(ctx, r.Common, "rev-parse", "--verify", "--quiet", "refs/heads/"+base); err != nil {
		return ""
	}
	return base
}

// A State is what git says of the files of a worktree.
type State struct {
	Ahead, Behind      int // commits, against the base
	Changed, Untracked int // files
}

// State compares a worktree with its base and its last commit.
func (r *Repository) State(ctx context.Context, t *Tree, base string) (s State, err error) {
	if base != "" && t.Head != "" {
		text, err := Git(ctx, r.Common, "rev-list", "--left-right", "--count", "refs/heads/"+base+"..."+t.Head)
		if err != nil {
			return s, err
		}
		behind, ahead, _ := strings.Cut(text, "\t")
		s.Behind, _ = strconv.Atoi(behind)
		s.Ahead, _ = strconv.Atoi(ahead)
	}
	if _, err := os.Stat(filepath.Join(t.Path, ".git")); err != nil {
		return s, err
	}
	text, err := Git(ctx, t.Path, "--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(text) {
		switch line[0] {
		case '?':
			s.Untracked++
		case '1', '2', 'u':
			s.Changed++
		}
	}
	return s, nil
}
