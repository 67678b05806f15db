package worktree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// lock is the file that locks a worktree, in git's folder of it.
const lock = "locked"

// A removal is one Remove at work.
type removal struct {
	r    *Repository
	t    *Tree
	git  string // the worktree's own folder below .git/worktrees
	at   string // where its files are now
	main *os.Root
	step func(string) // for tests: called between the steps
}

// Remove deletes the folder of a linked worktree and what git keeps about it. The branch stays. It returns a *Refusal, having deleted
// nothing, unless all of it is proven to exist elsewhere; see the package comment.
//
// It checks, renames the folder aside so that nothing opens its files any more, checks again, and deletes exactly the files that it
// checked. A file that changed in between ends the deletion, and the folder goes back to its place.
func (r *Repository) Remove(ctx context.Context, t *Tree) error {
	return r.remove(ctx, t, func(string) {})
}

func (r *Repository) remove(ctx context.Context, t *Tree, step func(string)) error {
	switch {
	case t.Main || t.Bare:
		return &Refusal{Path: t.Path, Reason: Unknown, Text: "it is the main worktree of the repository"}
	case t.Locked:
		return &Refusal{Path: t.Path, Reason: Locked, Text: strings.TrimSuffix("it is locked: "+t.Reason, ": ")}
	}
	m := &removal{r: r, t: t, at: t.Path, step: step}
	if err := m.identify(ctx); err != nil {
		return unknown(t.Path, err)
	}
	if top := &r.Trees[0]; !top.Bare {
		main, err := smallfile.OpenRoot(top.Path)
		if err != nil {
			return unknown(t.Path, err)
		}
		defer main.Close()
		m.main = main
	}
	if err := m.unused(); err != nil {
		return err
	}
	if _, err := m.check(ctx); err != nil {
		return err
	}
	m.step("checked")
	return m.aside(context.WithoutCancel(ctx))
}

// identify finds git's folder of the worktree, and requires that the two name each other.
func (m *removal) identify(ctx context.Context) error {
	text, err := Git(ctx, m.t.Path, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return err
	}
	line := strings.Split(text, "\n")
	if len(line) != 3 || line[1] != m.r.Common || line[2] != m.t.Path || filepath.Dir(line[0]) != filepath.Join(m.r.Common, "worktrees") {
		return errors.New("it is not a worktree that git linked to this repository")
	}
	m.git = line[0]
	back, _, err := smallfile.Read(filepath.Join(m.git, "gitdir"), 1<<16, smallfile.NoLinks)
	if err != nil {
		return err
	}
	entry := filepath.Join(m.t.Path, ".git")
	if got := strings.TrimSuffix(string(back), "\n"); got != entry {
		return fmt.Errorf("git has %s as its place", got)
	}
	if info, err := os.Lstat(entry); err != nil || !info.Mode().IsRegular() {
		return errors.Join(errors.New("its .git is not a file"), err)
	}
	return nil
}

// unused refuses a worktree in which a process has its folder or an open file.
func (m *removal) unused() error {
	users, err := proc.Users(m.at)
	if err != nil {
		return unknown(m.t.Path, fmt.Errorf("look for processes in it: %w", err))
	}
	if len(users) > 0 {
		u := users[0]
		return &Refusal{Path: m.t.Path, Reason: InUse, Text: fmt.Sprintf("process %d (%s) uses it", u.PID, u.Name)}
	}
	return nil
}

// aside moves the folder away, checks it there, and deletes it. git's own lock keeps git and other removals out meanwhile.
func (m *removal) aside(ctx context.Context) (err error) {
	m.at = filepath.Join(filepath.Dir(m.t.Path), "."+filepath.Base(m.t.Path)+".removing-"+strings.ToLower(rand.Text()[:8]))
	admin, err := smallfile.OpenRoot(m.git)
	if err != nil {
		return unknown(m.t.Path, err)
	}
	defer admin.Close()
	f, err := admin.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &Refusal{Path: m.t.Path, Reason: Locked, Text: "it is locked"}
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "tutti is removing it; if tutti was killed, its files are in %s: move them back and run git worktree unlock\n", m.at)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(m.t.Path, m.at)
	}
	if err != nil {
		_ = admin.Remove(lock) // the error is the one to be told
		return unknown(m.t.Path, err)
	}
	defer func() {
		if err == nil {
			return
		}
		if back := os.Rename(m.at, m.t.Path); back != nil { // it replaces at most an empty folder
			err = fmt.Errorf("%w; its files are in %s: %w", err, m.at, back)
			return
		}
		_ = admin.Remove(lock) // a lock that stays says what to do
	}()
	m.step("aside")
	if err := m.unused(); err != nil {
		return err
	}
	all, err := m.check(ctx)
	if err != nil {
		return err
	}
	m.step("checked again")
	if err := m.delete(all); err != nil {
		return err
	}
	if err := admin.Remove(lock); err != nil {
		return err
	}
	if _, err := Git(ctx, m.r.Common, "worktree", "remove", "--", m.t.Path); err != nil {
		return fmt.Errorf("%s: its files are removed, and git still lists it: %w", m.t.Path, err)
	}
	return nil
}

// delete removes the files that were checked, the deepest first. A folder with something new in it cannot be removed.
func (m *removal) delete(all []entry) error {
	root, err := smallfile.OpenRoot(m.at)
	if err != nil {
		return err
	}
	defer root.Close()
	for i := len(all) - 1; i >= 0; i-- {
		e := &all[i]
		now, err := root.Lstat(e.path)
		if err != nil {
			return err
		}
		if !os.SameFile(e.info, now) || now.Mode().Type() != e.info.Mode().Type() || !now.IsDir() && (now.Size() != e.info.Size() || !now.ModTime().Equal(e.info.ModTime())) {
			return &Refusal{Path: m.t.Path, Reason: InUse, Text: "it changed while it was being removed; files that were removed are in its last commit", Files: []string{e.path}}
		}
		if err := root.Remove(e.path); err != nil {
			return err
		}
	}
	return os.Remove(m.at)
}
