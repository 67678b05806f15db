package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

// A box is a folder on another machine into which files are pushed.
type box struct {
	t    *testing.T
	m    *commstest.Machine
	c    *ssh.Client
	host ssh.Host
	dir  string // as this machine sees it
	file string // what is pushed
}

func newBox(t *testing.T, root string) *box {
	t.Helper()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	b := &box{t: t, m: m, c: m.Client(), host: m.Host(), dir: filepath.Join(m.Home, root, "p"), file: filepath.Join(t.TempDir(), "a:b message.org")}
	b.host.Root = "~/" + root
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.fill("one")
	return b
}

func (b *box) fill(text string) {
	b.t.Helper()
	if err := os.WriteFile(b.file, []byte(text), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) push(ctx context.Context, name string, o ssh.PushOptions) (bool, error) {
	b.t.Helper()
	path, err := b.host.Dir("p", name)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.c.Push(ctx, b.host, b.file, path, o)
}

func (b *box) has(name, want string) {
	b.t.Helper()
	if got, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || string(got) != want {
		b.t.Errorf("%s there holds %.40q, %v; want %.40q\n%s", name, got, err, want, b.m.Log())
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"projects", "it's $(touch hit) \"my\"\\ `x` *"} {
		b := newBox(t, root)
		ctx := t.Context()
		stamp := time.Unix(1777284000, 0)
		if err := os.Chtimes(b.file, stamp, stamp); err != nil {
			t.Fatal(err)
		}
		if copied, err := b.push(ctx, "m.org", ssh.PushOptions{IgnoreExisting: true}); err != nil || !copied {
			t.Fatalf("new: copied %v, %v\n%s", copied, err, b.m.Log())
		}
		b.has("m.org", "one")
		info, err := os.Stat(filepath.Join(b.dir, "m.org"))
		if err != nil || info.Mode().Perm() != 0o600 || !info.ModTime().Equal(stamp) {
			t.Errorf("got mode %v, time %v, %v; want 0600 and %v", info.Mode(), info.ModTime(), err, stamp)
		}
		b.fill("two, longer")
		if copied, err := b.push(ctx, "m.org", ssh.PushOptions{IgnoreExisting: true}); err != nil || copied {
			t.Errorf("the name is taken: copied %v, %v", copied, err)
		}
		b.has("m.org", "one")
		b.fill("six") // as long as what is there, and of its time
		if err := os.Chtimes(b.file, stamp, stamp); err != nil {
			t.Fatal(err)
		}
		if copied, err := b.push(ctx, "m.org", ssh.PushOptions{}); err != nil || !copied {
			t.Errorf("replace: copied %v, %v", copied, err)
		}
		b.has("m.org", "six")
		if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
			t.Errorf("left there: %v, %v", entries, err)
		}
	}
}

func TestPushRefusals(t *testing.T) {
	t.Parallel()
	b := newBox(t, "projects")
	ctx := t.Context()
	var fault *ssh.Error
	for _, bad := range []struct{ file, remote string }{
		{"message.org", "./projects/p/m.org"}, {b.file, ""}, {b.file, "./projects/p/"}, {b.file, "./a\nb"},
	} {
		if _, err := b.c.Push(ctx, b.host, bad.file, bad.remote, ssh.PushOptions{}); err == nil {
			t.Errorf("%q to %q was pushed", bad.file, bad.remote)
		}
	}
	if _, err := b.push(ctx, "no/such/folder/m.org", ssh.PushOptions{}); !errors.As(err, &fault) || fault.Kind != ssh.Remote || ssh.Retryable(err) {
		t.Errorf("no folder there: got %+v", err)
	}
	b.c.Rsync = "an-rsync-that-is-nowhere"
	if _, err := b.push(ctx, "m.org", ssh.PushOptions{}); !errors.As(err, &fault) || fault.Kind != ssh.Missing || fault.Host != "" {
		t.Errorf("no rsync here: got %v", err)
	}
	b.c.Rsync = ""
	b.m.SetEnv("PATH", b.m.Bin)
	if _, err := b.push(ctx, "m.org", ssh.PushOptions{}); !errors.As(err, &fault) || fault.Kind != ssh.Missing || fault.Host != "beta" || ssh.Retryable(err) {
		t.Errorf("no rsync there: got %+v", err)
	}
	b.m.SetEnv("PATH", os.Getenv("PATH"))
	b.m.Lock()
	if _, err := b.push(ctx, "m.org", ssh.PushOptions{}); !errors.As(err, &fault) || fault.Kind != ssh.Refused || !strings.Contains(fault.Last, "Permission denied") {
		t.Errorf("not let in: got %+v", err)
	}
	b.m.Stop()
	if _, err := b.push(ctx, "m.org", ssh.PushOptions{}); !errors.As(err, &fault) || !ssh.Retryable(err) || !strings.Contains(fault.Last, "refused") {
		t.Errorf("no listener: got %+v", err)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, "m.org")); err == nil {
		t.Error("something came through")
	}
}

// TestPushBroken breaks the network in the middle of a file: it is not seen there, and a second try brings it.
func TestPushBroken(t *testing.T) {
	t.Parallel()
	b := newBox(t, "projects")
	text := strings.Repeat("0123456789abcdef", 1<<15)
	b.fill(text)
	p := commstest.NewProxy(t, b.m.Addr())
	b.host = b.m.Through(p)
	for name, fail := range map[string]func(int64){"cut": p.CutAfter, "stall": p.StallAfter} {
		fail(100 << 10)
		b.c.Limit = 3 * time.Second
		copied, err := b.push(t.Context(), name, ssh.PushOptions{IgnoreExisting: true})
		if err == nil || !ssh.Retryable(err) {
			t.Errorf("%s: copied %v, %v; want an error that is worth another try", name, copied, err)
		}
		if _, err := os.Lstat(filepath.Join(b.dir, name)); err == nil {
			t.Errorf("%s: half a file is seen", name)
		}
		p.Mend()
		b.c.Limit = time.Minute
		if copied, err := b.push(t.Context(), name, ssh.PushOptions{IgnoreExisting: true}); err != nil || !copied {
			t.Errorf("%s, second try: copied %v, %v", name, copied, err)
		}
		b.has(name, text)
	}
	// The machine goes down in the middle.
	p.StallAfter(100 << 10)
	done := make(chan error, 1)
	go func() {
		_, err := b.push(t.Context(), "down", ssh.PushOptions{})
		done <- err
	}()
	<-p.Failing()
	b.m.Stop()
	p.Cut() // what stands between us and the machine notices, too
	if err := <-done; !ssh.Retryable(err) {
		t.Errorf("machine went down: got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, "down")); err == nil {
		t.Error("machine down: half a file is seen")
	}
}

// TestPushCancel ends a push in the middle: the rsync and the ssh that it started are gone with it.
func TestPushCancel(t *testing.T) {
	t.Parallel()
	b := newBox(t, "projects")
	b.fill(strings.Repeat("0123456789abcdef", 1<<15))
	p := commstest.NewProxy(t, b.m.Addr())
	b.host = b.m.Through(p)
	p.StallAfter(100 << 10)
	b.c.Env = append(os.Environ(), "TUTTI_TEST_PUSH="+b.dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.push(ctx, "m.org", ssh.PushOptions{})
		done <- err
	}()
	<-p.Failing()
	if n := len(proc.WithEnv("TUTTI_TEST_PUSH", b.dir)); n < 2 {
		t.Errorf("%d processes of ours run, want rsync and its ssh", n)
	}
	halted := errors.New("halted")
	cancel(halted)
	if err := <-done; !errors.Is(err, halted) {
		t.Errorf("got %v, want the cause", err)
	}
	waitFor(t, "the end of what we started", func() bool { return len(proc.WithEnv("TUTTI_TEST_PUSH", b.dir)) == 0 })
}

// TestOldRsync uses an rsync that does not know how to protect its arguments.
func TestOldRsync(t *testing.T) {
	t.Parallel()
	b := newBox(t, "projects")
	real, err := exec.LookPath("rsync")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	b.c.Rsync = filepath.Join(t.TempDir(), "rsync")
	text := "#!/bin/sh\necho run >>" + log + "\nfor a in \"$@\"; do case $a in --protect-args)\n" +
		"echo \"rsync: unrecognized option '--protect-args'\" >&2; exit 1;; esac; done\nexec " + real + " \"$@\"\n"
	if err := progfile.Write(b.c.Rsync, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if copied, err := b.push(t.Context(), "m.org", ssh.PushOptions{}); err != nil || !copied {
			t.Errorf("copied %v, %v", copied, err)
		}
	}
	b.has("m.org", "one")
	if runs, err := os.ReadFile(log); err != nil || bytes.Count(runs, []byte("run")) != 3 {
		t.Errorf("rsync ran %d times, %v; want 3: it is asked once what it knows", bytes.Count(runs, []byte("run")), err)
	}
	b.host.Root = "~/my projects"
	if _, err := b.push(t.Context(), "m.org", ssh.PushOptions{}); err == nil {
		t.Error("a path that needs protection was handed to a shell")
	}
}
