package ssh_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"tutti/internal/commstest"
	"tutti/internal/proc"
	"tutti/internal/ssh"
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
