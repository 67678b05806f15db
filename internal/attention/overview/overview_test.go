package overview

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
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

// TestFollow: a hint makes it look although its pace is slow, and it ends with its context.
func TestFollow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hints, looks, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		Follow(ctx, Pace{Soon: time.Hour, Later: time.Hour}, hints, func(ctx context.Context) bool {
			select {
			case looks <- struct{}{}:
			case <-ctx.Done():
			}
			return false
		})
	}()
	<-looks
	for range 3 {
		hints <- struct{}{}
		<-looks
	}
	cancel()
	<-done
}

// TestFollowPace: many hints do not make it look more often than it may.
func TestFollowPace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hints := make(chan struct{}, 1)
	var last time.Time
	n := 0
	Follow(ctx, Pace{Least: 20 * time.Millisecond, Soon: time.Hour, Later: time.Hour}, hints, func(context.Context) bool {
		if now := time.Now(); n > 0 && now.Sub(last) < 20*time.Millisecond {
			t.Errorf("look %d came %s after the one before", n, now.Sub(last))
		}
		last = time.Now()
		if n++; n == 5 {
			cancel()
		}
		hints <- struct{}{}
		return true
	})
	if n != 5 {
		t.Errorf("%d looks", n)
	}
}
