package gitexclude

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in dir, without any settings of this user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func fill(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExclude: folders of ours are not offered by git, in the repository and in a linked work tree, and what a user has listed stays.
func TestExclude(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "repo")
	fill(t, filepath.Join(top, "sub [x] *", ".hermes"))
	git(t, top, "init", "-q")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "first")
	list := filepath.Join(top, ".git", "info", "exclude")
	if err := os.WriteFile(list, []byte("# mine\n*.log"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(filepath.Dir(top), "tree")
	git(t, top, "worktree", "add", "-q", tree)
	fill(t, filepath.Join(tree, "deep", ".hermes"))
	for range 2 {
		for _, dir := range []string{filepath.Join(top, "sub [x] *", ".hermes"), filepath.Join(tree, "deep", ".hermes")} {
			if err := Exclude(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{top, tree} {
		if out := git(t, dir, "status", "--porcelain"); out != "" {
			t.Errorf("git offers %s", out)
		}
	}
	text, _ := os.ReadFile(list)
	if got := string(text); !strings.HasPrefix(got, "# mine\n*.log\n/") || strings.Count(got, "\n") != 4 {
		t.Errorf("the list is now %q", got)
	}
}

// TestIgnore: a folder of ours gets a .gitignore inside a work tree alone, and one that is there stays.
func TestIgnore(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	bus := filepath.Join(top, ".h2a")
	fill(t, bus)
	ignore := filepath.Join(bus, ".gitignore")
	if err := Ignore(bus); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(ignore); err == nil {
		t.Error("written outside a work tree")
	}
	git(t, top, "init", "-q")
	if Ignored(bus) {
		t.Error("said to be ignored")
	}
	if err := Ignore(bus); err != nil {
		t.Fatal(err)
	}
	if out := git(t, top, "status", "--porcelain", "--untracked-files=all"); out != "" {
		t.Errorf("git offers %s", out)
	}
	if err := os.WriteFile(ignore, []byte("keys/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Ignore(bus); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(ignore); string(text) != "keys/\n" {
		t.Errorf("the user's own became %q", text)
	}
}
