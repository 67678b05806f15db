package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/worktree"
)

// A treeRow is one worktree in --json.
type treeRow struct {
	Session   string   `json:"session,omitempty"` // the newest that was started in it
	Path      string   `json:"path"`
	Branch    string   `json:"branch,omitempty"` // none for a detached HEAD
	Commit    string   `json:"commit,omitempty"`
	Base      string   `json:"base,omitempty"` // the branch to which it is merged
	Ahead     int      `json:"ahead"`          // commits that the base lacks
	Behind    int      `json:"behind"`         // commits of the base that it lacks
	Changed   int      `json:"changed"`        // files that differ from the last commit
	Untracked int      `json:"untracked"`      // files
	Main      bool     `json:"main,omitempty"` // the first worktree of the repository
	Locked    string   `json:"locked,omitempty"`
	UsedBy    []string `json:"used_by,omitempty"` // running sessions, and processes in it
	Error     string   `json:"error,omitempty"`   // why its state is unknown
}

type worktreeOptions struct{ inRegistry }

// trees is the repository here, with the sessions of this machine.
type trees struct {
	*sessions
	*worktree.Repository
	rows []registry.Row
}

// openTrees opens the repository of dir, "" for the current folder.
func (s *sessions) openTrees(ctx context.Context, dir string) (*trees, error) {
	r, err := worktree.Open(ctx, cmp.Or(dir, s.dir))
	if err != nil {
		hint := ""
		if errors.Is(err, worktree.ErrNoRepository) {
			hint = "go to a folder of a repository"
		}
		return nil, kit.Refuse(hint, "%s: %s", s.c.Verb.Name, kit.Clean(err.Error()))
	}
	all := &trees{sessions: s, Repository: r}
	parts, err := s.Parts(ctx, true)
	for i := range parts {
		all.rows = append(all.rows, parts[i].Rows...)
	}
	return all, err
}

// namedTree finds the worktree that the command line names by its session, branch or folder; with no name that of the current folder.
func (s *sessions) namedTree(ctx context.Context) (*trees, *worktree.Tree, error) {
	name := s.c.Arg(0)
	all, err := s.openTrees(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		for i := range all.Trees {
			if t := &all.Trees[i]; within(t.Path, s.dir) && !slices.ContainsFunc(all.Trees, func(o worktree.Tree) bool {
				return len(o.Path) > len(t.Path) && within(o.Path, s.dir)
			}) {
				return all, t, nil
			}
		}
		return nil, nil, kit.UsageHint(`"tutti worktree list" shows them`, "%s: missing worktree", s.c.Verb.Name)
	}
	for i := range all.rows {
		dir := lifecycle.WorktreeOf(&all.rows[i])
		if all.rows[i].Name != name || dir == "" {
			continue
		}
		if t, err := all.Find(dir); t != nil || err != nil {
			return all, t, err
		}
	}
	t, err := all.Find(name)
	if err == nil && t == nil {
		err = kit.Refuse(`"tutti worktree list" shows them`, "%s: the repository has no worktree %s", s.c.Verb.Name, kit.Clean(name))
	}
	return all, t, err
}

func within(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// running are the sessions that run in a worktree.
func (all *trees) running(t *worktree.Tree) (names []string) {
	for i := range all.rows {
		if r := &all.rows[i]; r.Busy() && (within(t.Path, r.Pane.Cwd) || lifecycle.WorktreeOf(r) == t.Path) {
			names = append(names, r.Name)
		}
	}
	return names
}

// row is what is shown of a worktree.
func (all *trees) row(ctx context.Context, t *worktree.Tree) treeRow {
	row := treeRow{Path: t.Path, Branch: t.Branch, Commit: t.Head, Main: t.Main, Base: all.Base(ctx, t), UsedBy: all.running(t)}
	if t.Locked {
		row.Locked = cmp.Or(t.Reason, "locked")
	}
	for i := range all.rows {
		if r := &all.rows[i]; lifecycle.WorktreeOf(r) == t.Path {
			row.Session = r.Name
		}
	}
	if t.Bare {
		return row
	}
	state, err := all.State(ctx, t, row.Base)
	if err != nil {
		row.Error = err.Error()
	}
	row.Ahead, row.Behind, row.Changed, row.Untracked = state.Ahead, state.Behind, state.Changed, state.Untracked
	users, err := proc.Users(t.Path)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		row.Error = err.Error()
	}
	for _, u := range users {
		row.UsedBy = append(row.UsedBy, fmt.Sprintf("%s (process %d)", u.Name, u.PID))
	}
	return row
}

// worktreeList lists the worktrees of the repository.
func worktreeList(ctx context.Context, c *kit.Call, s *sessions, _ *worktreeOptions) error {
	all, err := s.openTrees(ctx, "")
	if err != nil {
		return err
	}
	rows := []treeRow{}
	var g kit.Grid
	g.Add("SESSION", "BRANCH", "BASE", "AHEAD", "BEHIND", "FILES", "IN USE BY", "FOLDER")
	for i := range all.Trees {
		r := all.row(ctx, &all.Trees[i])
		rows = append(rows, r)
		files := "clean"
		switch {
		case r.Error != "":
			files = "unknown"
		case r.Changed+r.Untracked > 0:
			files = fmt.Sprintf("%d changed, %d new", r.Changed, r.Untracked)
		}
		if r.Locked != "" {
			files += ", locked"
		}
		used := "-"
		if len(r.UsedBy) > 0 {
			used = r.UsedBy[0]
		}
		if len(r.UsedBy) > 1 {
			used += fmt.Sprintf(", %d more", len(r.UsedBy)-1)
		}
		g.Add(kit.Clean(cmp.Or(r.Session, "-")), kit.Clean(cmp.Or(r.Branch, "(detached)")), kit.Clean(cmp.Or(r.Base, "-")),
			strconv.Itoa(r.Ahead), strconv.Itoa(r.Behind), files, kit.Clean(used), kit.Clean(c.App.Shown(r.Path)))
	}
	if c.JSON {
		c.Result(rows)
		return nil
	}
	return c.Long(&g)
}

// A treeDiff is what a worktree changes.
type treeDiff struct {
	Path      string   `json:"path"`
	Base      string   `json:"base"`
	Patch     string   `json:"patch"`
	Untracked []string `json:"untracked"` // files that the patch does not have
}

type worktreeDiffOptions struct {
	inRegistry
	Stat bool
}

// worktreeDiff shows what a worktree changes, committed or not.
func worktreeDiff(ctx context.Context, c *kit.Call, s *sessions, opt *worktreeDiffOptions) error {
	all, t, err := s.namedTree(ctx)
	if err != nil {
		return err
	}
	d := treeDiff{Path: t.Path, Base: all.Base(ctx, t)}
	if d.Patch, d.Untracked, err = all.Diff(ctx, t, d.Base, opt.Stat); err != nil {
		return treeFault(c, err)
	}
	d.Untracked = render.List(d.Untracked)
	if c.JSON {
		c.Result(d)
		return nil
	}
	if d.Patch == "" && len(d.Untracked) == 0 {
		c.Line("no changes against " + kit.Clean(cmp.Or(d.Base, "the last commit")))
	}
	for line := range strings.Lines(d.Patch) {
		c.Line(kit.Clean(strings.TrimSuffix(line, "\n")))
	}
	for _, name := range d.Untracked {
		c.Line("untracked: " + kit.Clean(name))
	}
	return nil
}

// A treeChange is the result of a merge, a rebase or a removal.
type treeChange struct {
	OK     bool     `json:"ok"`
	Path   string   `json:"path"`
	Branch string   `json:"branch,omitempty"`
	Base   string   `json:"base,omitempty"`
	Commit string   `json:"commit,omitempty"` // of the base after a merge, of the branch after a rebase
	Reason string   `json:"reason,omitempty"` // of a refusal: uncommitted, untracked, ignored, unmerged, locked, in use, unknown or conflict
	Error  string   `json:"error,omitempty"`
	Files  []string `json:"files,omitempty"` // the first ones
}

// treeChanged shows the result.
func (s *sessions) treeChanged(v treeChange, err error, line string) error {
	if r, ok := errors.AsType[*worktree.Refusal](err); ok {
		v.Reason, v.Files = r.Reason, r.Files
	}
	if v.OK = err == nil; !v.OK {
		v.Error = err.Error()
	}
	if s.c.JSON {
		s.c.Result(v)
	} else if err == nil {
		s.c.Line(line)
	}
	return treeFault(s.c, err)
}

// treeFault says what was refused, and what to type.
func treeFault(c *kit.Call, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	hint := ""
	if r, ok := errors.AsType[*worktree.Refusal](err); ok {
		hint = map[string]string{
			worktree.Uncommitted: "commit or discard the changes there",
			worktree.Untracked:   "commit the files, or delete what is not needed",
			worktree.Ignored:     `"git clean -ndX" there shows ignored files; "git clean -fdX" deletes them`,
			worktree.Unmerged:    `"tutti worktree merge" merges it; "git push" works, too`,
			worktree.Locked:      `"git worktree list --verbose" shows why; "git worktree unlock" unlocks it`,
			worktree.InUse:       "end what uses it",
		}[r.Reason]
	}
	hint = cmp.Or(kit.HintOf(err), hint)
	return kit.Refuse(hint, "%s: %s", c.Verb.Name, kit.Clean(err.Error()))
}

// worktreeMerge merges a worktree's branch into its base.
func worktreeMerge(ctx context.Context, c *kit.Call, s *sessions, _ *worktreeOptions) error {
	all, t, err := s.namedTree(ctx)
	if err != nil {
		return err
	}
	v := treeChange{Path: t.Path, Branch: t.Branch}
	line := "merged %[1]s into %[2]s"
	if state, e := all.State(ctx, t, all.Base(ctx, t)); e == nil && state.Ahead == 0 { // the merge says what is wrong with it
		line = "nothing to merge: %[2]s has all commits of %[1]s"
	}
	v.Base, v.Commit, err = all.Merge(ctx, t)
	return s.treeChanged(v, err, fmt.Sprintf(line, kit.Clean(v.Branch), kit.Clean(v.Base)))
}

// worktreeRebase rebases a worktree's branch onto its base.
func worktreeRebase(ctx context.Context, c *kit.Call, s *sessions, _ *worktreeOptions) error {
	all, t, err := s.namedTree(ctx)
	if err != nil {
		return err
	}
	v := treeChange{Path: t.Path, Branch: t.Branch}
	v.Base, v.Commit, err = all.Rebase(ctx, t)
	return s.treeChanged(v, err, "rebased "+kit.Clean(v.Branch)+" onto "+kit.Clean(v.Base))
}

// worktreeRemove removes a worktree of which nothing is lost.
func worktreeRemove(ctx context.Context, c *kit.Call, s *sessions, _ *worktreeOptions) error {
	all, t, err := s.namedTree(ctx)
	if err != nil {
		return err
	}
	if users := all.running(t); len(users) > 0 {
		err = &kit.Fault{
			Err:  &worktree.Refusal{Path: t.Path, Reason: worktree.InUse, Text: "session " + users[0] + " runs in it"},
			Next: "tutti session stop " + app.QuoteArg(kit.Clean(users[0])),
		}
	} else {
		err = all.Remove(ctx, t)
	}
	line := "removed " + kit.Clean(c.App.Shown(t.Path))
	if t.Branch != "" {
		line += "; branch " + kit.Clean(t.Branch) + " is kept"
	}
	return s.treeChanged(treeChange{Path: t.Path, Branch: t.Branch}, err, line)
}

// A treeAccepted is a set-up program that was accepted.
type treeAccepted struct {
	OK   bool   `json:"ok"`
	Path string `json:"path"`
}

type worktreeAcceptOptions struct {
	inRegistry
	Yes bool
}

// worktreeAccept allows the set-up program of a repository by its content.
func worktreeAccept(ctx context.Context, c *kit.Call, s *sessions, opt *worktreeAcceptOptions) error {
	if _, err := c.ForUser("accept a set-up program"); err != nil {
		return err
	}
	dir, err := absoluteIf(c.Arg(0))
	if err != nil {
		return kit.FailIO("", err, "")
	}
	top, err := worktree.Git(ctx, cmp.Or(dir, s.dir), "rev-parse", "--show-toplevel")
	if err != nil {
		return treeFault(c, err)
	}
	setup, err := worktree.SetupOf(top)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if setup == nil {
		return kit.Refuse("", "worktree accept: %s has no %s", kit.Clean(c.App.Shown(top)), worktree.SetupFile)
	}
	if err := confirmSetup(c, setup, opt.Yes); err != nil {
		return err
	}
	if err := full.Started(c.App).Remember(setup.Mark()); err != nil {
		return err
	}
	if c.JSON {
		c.Result(treeAccepted{true, setup.Path})
	} else {
		c.Line("accepted: " + kit.Clean(c.App.Shown(setup.Path)))
	}
	return nil
}

// confirmSetup shows a set-up program and asks whether it may run.
func confirmSetup(c *kit.Call, setup *worktree.Setup, yes bool) error {
	if !yes {
		for line := range strings.Lines(setup.Text) {
			c.Line("  " + kit.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return c.Confirm(yes, "Run this in each new worktree?", "the set-up program was not accepted", "tutti worktree accept --yes")
}

// acceptsSetup asks the user at a terminal whether the set-up program of a new worktree may run. Elsewhere it says no without a question.
func (s *sessions) acceptsSetup(setup *worktree.Setup) bool {
	if s.c.Columns == 0 || !s.c.UserReads() { // a question is not seen in a file or in JSON
		return false
	}
	s.c.Line(worktree.SetupFile + " of this repository:")
	return confirmSetup(s.c, setup, false) == nil
}
