package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowSend is a send that has stored its message and is kept from ending: the test holds the lock of the trail.
type slowSend struct {
	*exec.Cmd
	out  bytes.Buffer
	lock *os.File
}

func startSlowSend(t *testing.T) *slowSend {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		cmd.Args[0], cmd.Dir = "tutti", home
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
		return cmd
	}
	out, err := run("connect", "--host", "codex", "--name", "bob", "--json").Output()
	_, id, _ := strings.Cut(string(out), `"instance": "`)
	id, _, ok := strings.Cut(id, `"`)
	if err != nil || !ok {
		t.Fatalf("connect: %v, %s", err, out)
	}
	bus := filepath.Join(home, "h2a-workspace/.h2a")
	if err := os.MkdirAll(filepath.Join(bus, "trail"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &slowSend{Cmd: run("send", id, "hello", "--as", id)}
	if s.lock, err = os.Create(filepath.Join(bus, "trail/.flock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.lock.Close() })
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	s.Stdout = &s.out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process.Kill() })
	eventually(t, "the message is stored", func() bool {
		found, _ := filepath.Glob(filepath.Join(bus, "inbox/*/*.json"))
		return len(found) > 0
	})
	return s
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// An interrupt does not keep a send that has stored its message from saying so.
func TestInterruptOfAShortSend(t *testing.T) {
	t.Parallel()
	s := startSlowSend(t)
	s.Process.Signal(os.Interrupt)
	s.lock.Close()
	if err := s.Wait(); err != nil || !strings.HasPrefix(s.out.String(), "stored ") {
		t.Errorf("got %v, %q, want it to say that the message is stored", err, s.out.String())
	}
}

// A send that takes long after all can be killed from the terminal, by the second interrupt.
func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	s := startSlowSend(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	limit := time.After(4 * time.Second) // the lock alone would end the send after 5
	for {
		s.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			if got, ok := s.ProcessState.Sys().(syscall.WaitStatus); !ok || got.Signal() != syscall.SIGINT {
				t.Errorf("got %v, want it killed by the interrupt", s.ProcessState)
			}
			return
		case <-limit:
			t.Fatal("interrupts do not end it")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
