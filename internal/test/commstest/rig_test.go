package commstest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/progfile"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// TestMachine: reaches a machine by its line in a list of peers, and finds its own home and programs there.
func TestMachine(t *testing.T) {
	t.Parallel()
	beta := NewMachine(t, "beta", MachineOptions{Env: map[string]string{"GREETING": "it's here"}})
	peers, err := machines.ParsePeers([]byte(PeerTOML(beta.Host())))
	if err != nil || len(peers.Warnings) > 0 {
		t.Fatalf("%v, %q", err, peers.Warnings)
	}
	h, ok := peers.Get("beta")
	if !ok {
		t.Fatalf("got %+v", peers)
	}
	program := filepath.Join(t.TempDir(), "greet")
	if err := progfile.Write(program, []byte("#!/bin/sh\necho \"$GREETING, $HOME, $PWD\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	beta.Install("our-program", program)
	want := "it's here, " + beta.Home + ", " + beta.Home + "\n"
	if out, err := beta.Client().Run(t.Context(), h, "our-program && command -v rsync >&2", nil); err != nil || string(out.Stdout) != want {
		t.Errorf("there: got %q, %v; want %q", out.Stdout, err, want)
	}
	cmd := exec.Command(filepath.Join(beta.Bin, "our-program"))
	cmd.Env, cmd.Dir = beta.Env(), beta.Home
	if out, err := cmd.Output(); err != nil || string(out) != want {
		t.Errorf("as if typed there: got %q, %v; want %q", out, err, want)
	}
	beta.SetEnv("GREETING", "changed")
	if out, err := beta.Client().Run(t.Context(), h, "our-program", nil); err != nil || !strings.HasPrefix(string(out.Stdout), "changed, ") {
		t.Errorf("changed environment: got %q, %v", out.Stdout, err)
	}
	if dir := beta.Project("notes"); dir != filepath.Join(beta.Home, "projects", "notes") {
		t.Errorf("got project %s", dir)
	}
}

// TestNoLeftovers looks for what a test has left running on a machine, and in a home of gpg.
func TestNoLeftovers(t *testing.T) {
	t.Parallel()
	var dir, home string
	t.Run("a test", func(t *testing.T) {
		m := NewMachine(t, "beta", MachineOptions{})
		dir = m.dir
		if _, err := m.Client().Run(t.Context(), m.Host(), "(sleep 1000 >/dev/null 2>&1 &) ; exit 0", nil); err != nil {
			t.Fatal(err)
		}
		if len(proc.WithEnv(marker, dir)) == 0 {
			t.Error("what was started there is not seen")
		}
		k := NewKeyring(t, []Who{Alice})
		home = k.Home
		k.Run("x", "--armor", "--detach-sign")
		if len(agentsOf(home)) == 0 {
			t.Error("no agent is seen")
		}
	})
	if home == "" {
		t.Skip("SKIPPED: gpg or sshd is not installed (see the test above)")
	}
	if left := proc.WithEnv(marker, dir); len(left) > 0 {
		t.Errorf("left on the machine: %v", left)
	}
	if left := agentsOf(home); len(left) > 0 {
		t.Errorf("left of gpg: %v", left)
	}
	for _, path := range []string{dir, home} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestProxy: checks that the proxy breaks and delays a connection as set.
func TestProxy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // an echo
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	p := NewProxy(t, l.Addr().String())
	talk := func(c net.Conn, text string) (string, error) {
		t.Helper()
		if _, err := io.WriteString(c, text); err != nil {
			return "", err
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		buf := make([]byte, len(text))
		n, err := io.ReadFull(c, buf)
		return string(buf[:n]), err
	}
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := dial()
	if got, err := talk(c, "hello"); got != "hello" || err != nil {
		t.Errorf("whole: got %q, %v", got, err)
	}
	p.StallAfter(3)
	got, err := talk(c, "hello")
	if slow, ok := err.(net.Error); len(got) > 3 || !ok || !slow.Timeout() {
		t.Errorf("stalled: got %q, %v; want silence", got, err)
	}
	<-p.Failing()
	if p.Sent() != 8 {
		t.Errorf("%d bytes were sent, want 8", p.Sent())
	}
	if got, err := talk(dial(), "x"); got != "" || err == nil {
		t.Errorf("a new connection while stalled: got %q, %v", got, err)
	}
	p.Mend()
	if got, err := talk(dial(), "again"); got != "again" || err != nil {
		t.Errorf("mended: got %q, %v", got, err)
	}
	p.CutAfter(0)
	got, err = talk(dial(), "hello")
	if slow, ok := err.(net.Error); got != "" || err == nil || ok && slow.Timeout() {
		t.Errorf("cut: got %q, %v; want an end", got, err)
	}
}

// TestTwoMachines has one host key each: neither can stand for the other.
func TestTwoMachines(t *testing.T) {
	t.Parallel()
	beta, gamma := NewMachine(t, "beta", MachineOptions{}), NewMachine(t, "gamma", MachineOptions{})
	h := beta.Host()
	h.Port = gamma.Host().Port
	if _, err := NewClient().Probe(t.Context(), h); err == nil || ssh.Retryable(err) {
		t.Errorf("gamma passed for beta: %v", err)
	}
}
