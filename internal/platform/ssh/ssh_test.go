package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

func TestMain(m *testing.M) { os.Exit(commstest.Main(m)) }

// nasty is text that every shell would make something else of.
const nasty = "it's \"quoted\" $(touch hit) `touch hit` \\ ! ; & | > hit * ~ \r\n\x00 é\n"

// script uses all that the command line of a login shell would take apart.
const script = `# a comment, with 'quotes' and a "pair"
if [ "$(printf '%s' 'a!b')" = 'a!b' ]; then
	printf 'home=%s\n' "$(basename "$HOME")"; pwd | grep -q "$HOME" && echo in home
fi
case "x\\y" in *\\*) echo backslash ;; esac
IFS= read -r first
printf 'first=%s\n' "$first"
cat`

func TestRun(t *testing.T) {
	t.Parallel()
	want := "home=h\nin home\nbackslash\nfirst=one \\ 'two'  \n" + nasty
	for _, shell := range []string{"/bin/sh", "/bin/bash", "csh", "tcsh", "fish", "zsh", "noisy"} {
		o := commstest.MachineOptions{Shell: commstest.Program(shell)}
		if shell == "noisy" { // start-up files that print something
			o.Shell = filepath.Join(t.TempDir(), "noisy")
			if err := progfile.Write(o.Shell, []byte("#!/bin/sh\necho Welcome!\necho warned >&2\nexec /bin/sh \"$@\"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if o.Shell == "" {
			continue // not installed, and only one of several
		}
		m := commstest.NewMachine(t, "beta", o)
		out, err := m.Client().Run(t.Context(), m.Host(), script, []byte("one \\ 'two'  \n"+nasty))
		if err != nil || string(out.Stdout) != want {
			t.Errorf("login shell %s: got %q, %v; want %q\n%s%s", shell, out.Stdout, err, want, out.Stderr, m.Log())
		}
		if _, err := os.Lstat(filepath.Join(m.Home, "hit")); err == nil {
			t.Errorf("login shell %s ran the input", shell)
		}
	}
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	c, h, ctx := m.Client(), m.Host(), t.Context()

	out, err := c.Run(ctx, h, "echo out; printf 'first\nlast \033[1m\n' >&2; exit 7", nil)
	var fault *ssh.Error
	if !errors.As(err, &fault) || fault.Kind != ssh.Remote || fault.Exit != 7 || fault.Last != "last [1m" || out.Exit != 7 || string(out.Stdout) != "out\n" {
		t.Errorf("a script that fails: got %q, %+v", out.Stdout, fault)
	}
	if ssh.Retryable(err) {
		t.Error("a script that fails would be tried again")
	}
	if _, err = c.Run(ctx, h, "nothing-of-that-name", nil); !errors.As(err, &fault) || fault.Kind != ssh.Missing || !strings.Contains(fault.Last, "nothing-of-that-name") {
		t.Errorf("a program that is missing there: got %v", err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	if out, err := c.Run(ctx, h, "cat", large); err != nil || !bytes.Equal(out.Stdout, large) {
		t.Errorf("512 KiB: got %d bytes, %v", len(out.Stdout), err)
	}
	if out, err := c.Run(ctx, h, "yes too much", nil); err == nil || len(out.Stdout) > 1<<20 || ssh.Retryable(err) {
		t.Errorf("endless output: got %d bytes, %v", len(out.Stdout), err)
	}
	if _, err := c.Run(ctx, h, "sleep 0.1; head -c 3", bytes.Repeat([]byte("x"), 1<<19)); err != nil {
		t.Errorf("input that is not read: %v", err)
	}
	for _, bad := range []string{"", "\n", "echo é", "a\x00b"} {
		if _, err := c.Run(ctx, h, bad, nil); err == nil {
			t.Errorf("script %q was run", bad)
		}
	}
	if _, err := c.Run(ctx, ssh.Host{Name: "x", Host: "-oProxyCommand=touch hit"}, "true", nil); err == nil {
		t.Error("an option passed for a host")
	}
}

// TestHalfScript cuts the connection inside the script: no part of it runs.
func TestHalfScript(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	text := "touch hit\n" + strings.Repeat("# filler\n", 5000) + "exit 0"
	remote := fmt.Sprintf("exec sh -c 's=$(dd bs=1 count=%d 2>/dev/null) || exit 127; [ ${#s} = %d ] || exit 125; eval \"$s\"'", len(text), len(text))
	// The same command line by hand, with half of the input.
	h := m.Host()
	args := []string{"-F", "/dev/null", "-p", fmt.Sprint(h.Port), "-o", "BatchMode=yes"}
	for _, o := range h.Options {
		args = append(args, "-o", o)
	}
	cmd := exec.Command("ssh", append(args, "--", h.User+"@"+h.Host, remote)...)
	cmd.Stdin = strings.NewReader(text[:len(text)/2])
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("got %v, want exit status 125", err)
	}
	if _, err := os.Lstat(filepath.Join(m.Home, "hit")); err == nil {
		t.Error("half of a script was run")
	}
}

// TestRefusals has the other side say no, in each of its ways.
func TestRefusals(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	c, ctx := m.Client(), t.Context()
	if d, err := c.Probe(ctx, m.Host()); err != nil || d <= 0 {
		t.Fatalf("probe: %v, %v\n%s", d, err, m.Log())
	}
	expect := func(what string, h ssh.Host, kind ssh.Kind, again bool, word string) {
		t.Helper()
		var fault *ssh.Error
		if _, err := c.Probe(ctx, h); !errors.As(err, &fault) || fault.Kind != kind || fault.Exit != 255 || fault.Host != "beta" ||
			ssh.Retryable(err) != again || !strings.Contains(fault.Last, word) {
			t.Errorf("%s: got %+v; want %s with %q, again %v", what, fault, kind, word, again)
		} else if kind == ssh.Refused && !strings.Contains(fault.Hint(), h.Typed()) {
			t.Errorf("%s: the hint %q does not say what to type", what, fault.Hint())
		}
	}
	wrong := m.Host()
	wrong.User = "nobody-of-that-name"
	expect("unknown user", wrong, ssh.Refused, false, "Permission denied")
	wrong = m.Host()
	wrong.Options = append(wrong.Options, "NoSuchKeyword=x")
	expect("unknown option", wrong, ssh.Refused, false, "")
	wrong = m.Host()
	wrong.Options = append([]string{"HostName=host.invalid"}, wrong.Options...)
	expect("unknown host", wrong, ssh.Unreachable, true, "host.invalid")
	m.Forget()
	expect("host key not known", m.Host(), ssh.Refused, false, "ost key verification failed")
	m.Trust()
	m.NewHostKey()
	expect("host key changed", m.Host(), ssh.Refused, false, "ost key verification failed")
	m.Trust()
	if _, err := c.Probe(ctx, m.Host()); err != nil {
		t.Errorf("the new host key is known now: %v", err)
	}
	m.Stop()
	expect("no listener", m.Host(), ssh.Unreachable, true, "refused")
	m.Start()
	m.Lock()
	expect("key taken off the list", m.Host(), ssh.Refused, false, "Permission denied")

	missing := &ssh.Client{SSH: "an-ssh-that-is-nowhere", Rsync: "an-rsync-that-is-nowhere"}
	var fault *ssh.Error
	if _, err := missing.Probe(ctx, m.Host()); !errors.As(err, &fault) || fault.Kind != ssh.Missing || fault.Hint() == "" {
		t.Errorf("no ssh here: got %v", err)
	}
	if err := missing.HasRsync(); !errors.As(err, &fault) || fault.Kind != ssh.Missing {
		t.Errorf("no rsync here: got %v", err)
	}
}

// TestTimes has the network and the other side say nothing.
func TestTimes(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	c := m.Client()
	var fault *ssh.Error
	hole := m.Host()
	hole.Port = commstest.BlackHole(t)
	c.ConnectTimeout = time.Second
	if _, err := c.Probe(t.Context(), hole); !errors.As(err, &fault) || !ssh.Retryable(err) || fault.Exit != 255 {
		t.Errorf("a host that says nothing: got %v", err)
	}
	c.ConnectTimeout = time.Minute
	p := commstest.NewProxy(t, m.Addr())
	if _, err := c.Probe(t.Context(), m.Through(p)); err != nil {
		t.Fatalf("through the proxy: %v", err)
	}
	p.StallAfter(3000) // about the end of a handshake
	c.Limit = 2 * time.Second
	for stalled := false; !stalled; {
		_, err := c.Run(t.Context(), m.Through(p), "cat", bytes.Repeat([]byte("x"), 1<<16))
		if !ssh.Retryable(err) || !errors.As(err, &fault) {
			t.Fatalf("a network that stalls: got %v", err)
		}
		select {
		case <-p.Failing():
			stalled = true
		default: // a slow machine: the call was over before it came so far
		}
	}
	c.Limit = time.Second
	if _, err := c.Run(t.Context(), m.Host(), "sleep 100", nil); !errors.As(err, &fault) || fault.Kind != ssh.Timeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a script that takes too long: got %v", err)
	}
	c.Limit = time.Minute
	p.Mend()
	p.CutAfter(1000)
	if _, err := c.Probe(t.Context(), m.Through(p)); !errors.As(err, &fault) || fault.Kind != ssh.Unreachable || !ssh.Retryable(err) {
		t.Errorf("a connection that is reset: got %v", err)
	}
}

// TestCancel ends a call by its context: the error is the cause, and no process of ours is left.
func TestCancel(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	halted := errors.New("halted")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := m.Client()
	c.Env = append(os.Environ(), "TUTTI_TEST_CANCEL="+m.Home)
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx, m.Host(), "touch begun; sleep 100", nil)
		done <- err
	}()
	waitFor(t, "the script", func() bool { _, err := os.Lstat(filepath.Join(m.Home, "begun")); return err == nil })
	if len(proc.WithEnv("TUTTI_TEST_CANCEL", m.Home)) == 0 {
		t.Error("no process of ours is seen while the script runs")
	}
	cancel(halted)
	if err := <-done; !errors.Is(err, halted) || ssh.Retryable(err) {
		t.Errorf("got %v, want the cause", err)
	}
	if left := proc.WithEnv("TUTTI_TEST_CANCEL", m.Home); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := c.Run(ctx, m.Host(), "touch again", nil); !errors.Is(err, halted) {
		t.Errorf("after the end: got %v", err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	m := commstest.NewMachine(b, "beta", commstest.MachineOptions{})
	for b.Loop() {
		if _, err := m.Client().Run(b.Context(), m.Host(), "cat", []byte("x")); err != nil {
			b.Fatal(err)
		}
	}
}
