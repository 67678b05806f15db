package ssh_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
)

// TestShare has several calls use one connection, which is gone in the end.
func TestShare(t *testing.T) {
	t.Parallel()
	b := newBox(t, "projects")
	b.c.Env = append(os.Environ(), "TUTTI_TEST_SHARE="+b.dir)
	shared, end, err := b.c.Share()
	if err != nil {
		t.Fatal(err)
	}
	b.c = shared
	for n := range 3 {
		out, err := b.c.Run(t.Context(), b.host, "cat; exit 3", []byte("in"))
		if fault, ok := err.(*ssh.Error); !ok || fault.Exit != 3 || string(out.Stdout) != "in" {
			t.Fatalf("run %d: got %q, %v\n%s", n, out.Stdout, err, b.m.Log())
		}
		if copied, err := b.push(t.Context(), "m.org", ssh.PushOptions{IgnoreExisting: true}); err != nil || copied != (n == 0) {
			t.Errorf("push %d: copied %v, %v", n, copied, err)
		}
	}
	b.has("m.org", "one")
	if n := strings.Count(b.m.Log(), "Accepted publickey"); n != 1 {
		t.Errorf("%d connections were made, want 1\n%s", n, b.m.Log())
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprint("tutti-ssh-", os.Getuid()))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of sockets: %v, %v", info, err)
	}
	end()
	waitFor(t, "the end of the connection", func() bool { return len(proc.WithEnv("TUTTI_TEST_SHARE", b.dir)) == 0 })
}

// TestShareBroken stalls and cuts a shared connection: the next call makes another one.
func TestShareBroken(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	p := commstest.NewProxy(t, m.Addr())
	h := m.Through(p)
	base := m.Client()
	base.Env = append(os.Environ(), "TUTTI_TEST_SHARE="+m.Home)
	c, end, err := base.Share()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ok := func(when string) {
		t.Helper()
		c.Limit = time.Minute
		if out, err := c.Run(t.Context(), h, "echo fine", nil); err != nil || string(out.Stdout) != "fine\n" {
			t.Fatalf("%s: got %q, %v", when, out.Stdout, err)
		}
	}
	ok("at first")
	p.StallAfter(0)
	c.Limit = time.Second
	if _, err := c.Run(t.Context(), h, "true", nil); !ssh.Retryable(err) {
		t.Errorf("stalled: got %v", err)
	}
	p.Mend()
	ok("after the stall")
	p.Cut()
	ok2 := func() error { _, err := c.Run(t.Context(), h, "true", nil); return err }
	if err := ok2(); err != nil && !ssh.Retryable(err) {
		t.Errorf("cut: got %v", err)
	}
	ok("after the cut")
	m.Stop()
	c.Limit = time.Minute
	if err := ok2(); !ssh.Retryable(err) {
		t.Errorf("machine down: got %v", err)
	}
	if err := ok2(); !ssh.Retryable(err) {
		t.Errorf("machine down, second try: got %v", err)
	}
	m.Start()
	ok("machine up again")
	end()
	p.Cut() // the connection that stalled is held until its time is over
	waitFor(t, "the end of the connections", func() bool { return len(proc.WithEnv("TUTTI_TEST_SHARE", m.Home)) == 0 })
}

// TestShareInForeignFolder finds a folder of sockets that others may use.
func TestShareInForeignFolder(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	if len(top) > 50 {
		t.Skip("the path of the test is too long for sockets, so that another folder is used")
	}
	dir := filepath.Join(top, fmt.Sprint("tutti-ssh-", os.Getuid()))
	for what, lay := range map[string]func() error{
		"open to others": func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)) },
		"a link":         func() error { return os.Symlink(t.TempDir(), dir) },
		"a file":         func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		if err := lay(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := new(ssh.Client).Share(); err == nil {
			t.Errorf("%s: it is used", what)
		}
		os.Remove(dir)
	}
}

func BenchmarkShared(b *testing.B) {
	m := commstest.NewMachine(b, "beta", commstest.MachineOptions{})
	c, end, err := m.Client().Share()
	if err != nil {
		b.Fatal(err)
	}
	defer end()
	for b.Loop() {
		if _, err := c.Run(b.Context(), m.Host(), "cat", []byte("x")); err != nil {
			b.Fatal(err)
		}
	}
}
