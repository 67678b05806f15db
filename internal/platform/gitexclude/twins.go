package gitexclude

import (
	"os"
	"path/filepath"
	"strings"
)

// maxTrees is how many work trees of a repository are looked at.
const maxTrees = 64

// Twins returns the same path in the other work trees of the repository that contains it, whether a file is there or not: what is
// changed in one of them meets what was changed in the others when they are merged. The path is absolute and without links.
func Twins(path string) (all []string) {
	top, common := WorkTree(path)
	if top == "" {
		return nil
	}
	inside, err := filepath.Rel(top, path)
	if err != nil {
		return nil
	}
	tops := linkedTrees(common)
	if filepath.Base(common) == ".git" {
		tops = append([]string{filepath.Dir(common)}, tops...)
	}
	for _, other := range tops {
		if real, err := filepath.EvalSymlinks(other); err == nil && real != top {
			all = append(all, filepath.Join(real, inside))
		}
	}
	return all
}

// linkedTrees are the top folders of the work trees that git has linked to a repository.
func linkedTrees(common string) (tops []string) {
	dir, err := os.Open(filepath.Join(common, "worktrees"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxTrees) // fewer are not a fault
	for _, name := range names {
		base := filepath.Join(common, "worktrees", name)
		if entry := small(filepath.Join(base, "gitdir")); strings.HasSuffix(entry, "/.git") {
			tops = append(tops, filepath.Dir(under(base, entry)))
		}
	}
	return tops
}
