package overview

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, filepath.Join(top, "main/.git/HEAD"), "ref: refs/heads/feature/a\n")
	write(t, filepath.Join(top, "main/src/x"), "")
	write(t, filepath.Join(top, "main/.git/worktrees/wt/HEAD"), "ref: refs/heads/b\n")
	write(t, filepath.Join(top, "wt/.git"), "gitdir: "+filepath.Join(top, "main/.git/worktrees/wt")+"\n")
	write(t, filepath.Join(top, "near/.git"), "gitdir: ../main/.git/worktrees/wt\n")
	write(t, filepath.Join(top, "detached/.git/HEAD"), "0123456789abcdef0123456789abcdef01234567\n")
	write(t, filepath.Join(top, "odd/.git/HEAD"), "ref: refs/heads/a\nsecond line\n")
	for dir, want := range map[string]string{
		"main": "feature/a", "main/src": "feature/a", "wt": "b", "near": "b", "detached": "0123456789ab", "odd": "",
	} {
		if got := Branch(filepath.Join(top, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if got := Branch("relative"); got != "" {
		t.Errorf("a relative folder: %q", got)
	}
}
