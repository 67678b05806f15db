package worktree

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/test/boundtest"
)

// A rig is a repository with a history, a remote branch and ignored files.
type rig struct {
	t         *testing.T
	dir, repo string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(k, v)
	}
	g := &rig{t, home, filepath.Join(home, "api")}
	g.write(".gitconfig", "[user]\n\tname = Eva\n\temail = eva@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n")
	g.git(home, "init", "-q", g.repo)
	g.write("api/.gitignore", "*.log\n.env\nbuild/\n")
	g.write("api/a.txt", "a\n")
	g.write("api/sub/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(g.repo, "sub/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(g.repo, "link")); err != nil {
		t.Fatal(err)
	}
	g.write("api/crlf.txt", "one\r\ntwo\r\n")
	g.write("api/.gitattributes", "crlf.txt text eol=crlf\n")
	g.git(g.repo, "add", "-A")
	g.git(g.repo, "commit", "-qm", "one")
	g.write("api/.env", "KEY=1\n")
	return g
}

func (g *rig) git(dir string, args ...string) string {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (g *rig) write(name, text string) {
	g.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(g.dir, name)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	if err != nil {
		g.t.Fatal(err)
	}
}

// add makes a worktree with a new branch.
func (g *rig) add(branch string) string {
	g.t.Helper()
	dir := filepath.Join(g.dir, "api-"+branch)
	g.git(g.repo, "worktree", "add", "-q", "-b", branch, dir, "main")
	return dir
}

func (g *rig) find(name string) (*Repository, *Tree) {
	g.t.Helper()
	r, err := Open(g.t.Context(), g.repo)
	if err != nil {
		g.t.Fatal(err)
	}
	tree, err := r.Find(name)
	if err != nil || tree == nil {
		g.t.Fatalf("find %s: %v, %v", name, tree, err)
	}
	return r, tree
}

// contents are all files below a folder, except git's.
func (g *rig) contents(dir string) map[string]string {
	g.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && filepath.Dir(path) == dir:
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			all[rel] = string(text)
			return err
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			all[rel] = to
			return err
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.t.Fatal(err)
	}
	return all
}

// kept are the ids of all objects that a reference keeps.
func (g *rig) kept(dir string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(g.git(dir, "rev-list", "--objects", "--all")) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[id] = true
	}
	return all
}

// A mishap is something that a worktree may have; it returns what undoes it for the test's own sake.
type mishap struct {
	name   string
	refuse bool // the removal must refuse
	do     func(g *rig, dir string) (undo func())
}

var nothing = func() {}

func inside(g *rig, dir string, open bool) func() {
	cmd := exec.CommandContext(g.t.Context(), "sleep", "600")
	if cmd.Dir = dir; open {
		f, err := os.Open(filepath.Join(dir, "a.txt"))
		if err != nil {
			g.t.Fatal(err)
		}
		defer f.Close()
		cmd.Dir, cmd.ExtraFiles = g.dir, []*os.File{f}
	}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

var mishaps = []mishap{
	{"nothing", false, func(*rig, string) func() { return nothing }},
	{"merged", false, func(g *rig, dir string) func() {
		g.write(dir+"/new.txt", dir)
		g.git(dir, "add", "-A")
		g.git(dir, "commit", "-qm", "work")
		g.git(g.repo, "merge", "-q", "--no-edit", strings.TrimPrefix(filepath.Base(dir), "api-"))
		return nothing
	}},
	{"ignored, as in main", false, func(g *rig, dir string) func() { g.write(dir+"/.env", "KEY=1\n"); return nothing }},
	{"amended", false, func(g *rig, dir string) func() {
		g.write(dir+"/b.txt", dir)
		g.git(dir, "add", "-A")
		g.git(dir, "commit", "-qm", "work")
		g.git(dir, "commit", "-q", "--amend", "-m", "better")
		g.git(dir, "tag", "t-"+filepath.Base(dir))
		return nothing
	}},
	{"untracked", true, func(g *rig, dir string) func() { g.write(dir+"/deep/er/x", dir); return nothing }},
	{"ignored", true, func(g *rig, dir string) func() { g.write(dir+"/x.log", dir); return nothing }},
	{"ignored, differs", true, func(g *rig, dir string) func() { g.write(dir+"/.env", "KEY=2\n"); return nothing }},
	{"changed", true, func(g *rig, dir string) func() { g.write(dir+"/a.txt", dir); return nothing }},
	{"changed, hidden from git", true, func(g *rig, dir string) func() {
		g.git(dir, "update-index", "--assume-unchanged", "a.txt")
		g.write(dir+"/a.txt", "secret\n")
		return nothing
	}},
	{"line ends", true, func(g *rig, dir string) func() { g.write(dir+"/crlf.txt", "one\ntwo\r\n"); return nothing }},
	{"staged, and changed back", true, func(g *rig, dir string) func() {
		g.write(dir+"/a.txt", dir)
		g.git(dir, "add", "a.txt")
		g.write(dir+"/a.txt", "a\n")
		return nothing
	}},
	{"unpushed", true, func(g *rig, dir string) func() {
		g.write(dir+"/c", dir)
		g.git(dir, "add", "-A")
		g.git(dir, "commit", "-qm", "w")
		return nothing
	}},
	{"detached", true, func(g *rig, dir string) func() {
		g.git(dir, "checkout", "-q", "--detach")
		g.write(dir+"/c", dir)
		g.git(dir, "add", "-A")
		g.git(dir, "commit", "-qm", "w")
		return nothing
	}},
	{"only in the log", true, func(g *rig, dir string) func() {
		g.git(dir, "checkout", "-q", "--detach")
		g.write(dir+"/c", dir)
		g.git(dir, "add", "-A")
		g.git(dir, "commit", "-qm", "w")
		g.git(dir, "checkout", "-q", "main~0")
		return nothing
	}},
	{"locked", true, func(g *rig, dir string) func() { g.git(g.repo, "worktree", "lock", dir); return nothing }},
	{"a process inside", true, func(g *rig, dir string) func() { return inside(g, filepath.Join(dir, "sub"), false) }},
	{"an open file", true, func(g *rig, dir string) func() { return inside(g, dir, true) }},
	{"another repository in it", true, func(g *rig, dir string) func() {
		g.git(dir, "init", "-q", "build/dep")
		g.write(dir+"/build/dep/x", dir)
		return nothing
	}},
	{"an operation under way", true, func(g *rig, dir string) func() {
		g.write(g.git(dir, "rev-parse", "--absolute-git-dir")+"/MERGE_HEAD", g.git(dir, "rev-parse", "HEAD")+"\n")
		return nothing
	}},
	{"not linked any more", true, func(g *rig, dir string) func() { g.write(dir+"/.git", "gitdir: /nowhere\n"); return nothing }},
	{"an object is missing", true, func(g *rig, dir string) func() {
		id := g.git(dir, "rev-parse", "HEAD:a.txt")
		path := filepath.Join(g.repo, ".git/objects", id[:2], id[2:])
		if err := os.Rename(path, path+".away"); err != nil {
			g.t.Fatal(err)
		}
		return func() { _ = os.Rename(path+".away", path) }
	}},
	{"git fails", true, func(g *rig, dir string) func() {
		real, err := exec.LookPath("git")
		if err != nil {
			g.t.Fatal(err)
		}
		bin, path := filepath.Join(g.dir, "bin"), os.Getenv("PATH")
		_ = os.RemoveAll(filepath.Join(g.dir, "calls"))
		g.write("bin/git", fmt.Sprintf("#!/bin/sh\necho >> %[1]s/calls\n[ $(wc -l < %[1]s/calls) -ge %[2]d ] && exit 1\nexec %[3]s \"$@\"\n", g.dir, 1+rand.IntN(9), real))
		_ = os.Chmod(filepath.Join(bin, "git"), 0o755)
		_ = os.Setenv("PATH", bin+":"+path)
		return func() { _ = os.Setenv("PATH", path) }
	}},
}

// late is done while a removal runs, at one of its steps.
var late = []mishap{
	{"a new file", true, func(g *rig, dir string) func() { g.write(dir+"/late.txt", dir); return nothing }},
	{"a changed file", true, func(g *rig, dir string) func() { g.write(dir+"/a.txt", "changed "+dir); return nothing }},
	{"a replaced file", true, func(g *rig, dir string) func() {
		g.write(dir+"/tmp.log", "a\n")
		_ = os.Rename(dir+"/tmp.log", dir+"/a.txt")
		g.write(dir+"/a.txt", "b\n")
		return nothing
	}},
}

// TestNothingLost removes worktrees in random states. A removal that refuses changes nothing. One that succeeds loses no byte that
// is not in an object of git that a reference keeps, or in the main worktree.
func TestNothingLost(t *testing.T) {
	boundtest.OneGoroutine(t)
	if _, err := proc.Users("/nonexistent"); err != nil {
		t.Skip(err)
	}
	n := 40
	if os.Getenv("TUTTI_SOAK") != "" {
		n = 500
	}
	g := newRig(t)
	removed, refused := 0, 0
	reasons := map[string]int{}
	for i := range n {
		var do []mishap
		if i < len(mishaps) { // each of them alone, once
			do = append(do, mishaps[i])
		} else {
			m, harmless := mishaps[rand.IntN(len(mishaps))], mishaps[rand.IntN(4)]
			if rand.IntN(2) == 0 && m.name != harmless.name {
				do = append(do, harmless)
			}
			do = append(do, m)
		}
		step, at := "", late[rand.IntN(len(late))]
		if i >= len(mishaps) && rand.IntN(3) == 0 {
			step = []string{"checked", "aside", "checked again"}[rand.IntN(3)]
		}
		g.round(i, do, step, at, func(err error) {
			if err == nil {
				removed++
				return
			}
			refused++
			if r, ok := errors.AsType[*Refusal](err); ok {
				reasons[r.Reason]++
			} else {
				reasons["other"]++
			}
		})
	}
	t.Logf("%d removals: %d removed, %d refused: %v", n, removed, refused, reasons)
	if removed < n/20 {
		t.Errorf("only %d of %d were removed: the test shows little", removed, n)
	}
}

// round is one removal.
func (g *rig) round(i int, do []mishap, step string, at mishap, count func(error)) {
	t := g.t
	t.Helper()
	branch := fmt.Sprintf("b%d", i)
	dir := g.add(branch)
	r, tree := g.find(dir)
	want, name, late := false, "", false
	var undo []func()
	for _, m := range do {
		undo = append(undo, m.do(g, dir))
		want, name = want || m.refuse, name+m.name+"; "
		if m.name == "locked" {
			r, tree = g.find(dir)
		}
	}
	before, main := g.contents(dir), g.contents(g.repo)
	err := r.remove(t.Context(), tree, func(s string) {
		if s != step {
			return
		}
		late = true
		place := dir
		if aside, _ := filepath.Glob(filepath.Join(g.dir, ".api-"+branch+".removing-*")); len(aside) == 1 {
			place = aside[0]
		}
		at.do(g, place)
		before = g.contents(place)
	})
	for _, f := range undo {
		f()
	}
	count(err)
	if late {
		want, name = true, name+step+": "+at.name
	}
	if want != (err != nil) {
		t.Errorf("%d (%s): removal: %v", i, name, err)
	}
	after := g.contents(dir)
	kept := g.kept(g.repo)
	for path, text := range before {
		sum := fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(text)), text...)))
		unix := bytes.ReplaceAll([]byte(text), []byte("\r\n"), []byte("\n")) // git writes the line ends again
		stored := fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(unix)), unix...)))
		switch {
		case after[path] == text && (text != "" || err != nil):
		case kept[sum] || path == "crlf.txt" && text == "one\r\ntwo\r\n" && kept[stored] || main[path] == text:
			if err != nil && !late {
				t.Errorf("%d (%s): refused (%v), and %s is gone", i, name, err, path)
			}
		default:
			t.Errorf("%d (%s): LOST %s: %q (%v)", i, name, path, text, err)
		}
	}
	if _, e := os.Lstat(dir); (e != nil) != (err == nil) {
		t.Errorf("%d (%s): folder: %v after %v", i, name, e, err)
	}
	if err != nil && !late && !maps.Equal(before, after) {
		t.Errorf("%d (%s): refused (%v), and files changed", i, name, err)
	}
	if aside, _ := filepath.Glob(filepath.Join(g.dir, ".*removing*")); len(aside) > 0 {
		t.Errorf("%d (%s): left %q", i, name, aside)
		_ = os.RemoveAll(aside[0])
	}
	if err == nil {
		g.git(g.repo, "rev-parse", "--verify", "refs/heads/"+branch)
		if strings.Contains(g.git(g.repo, "worktree", "list"), dir) {
			t.Errorf("%d (%s): git still lists it", i, name)
		}
	}
	if err != nil { // the next rounds list fewer
		_ = exec.Command("git", "-C", g.repo, "worktree", "unlock", dir).Run() // it may not be locked
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		g.git(g.repo, "worktree", "prune")
	}
}
