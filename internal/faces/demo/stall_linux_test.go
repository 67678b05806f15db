package demo

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A heard is what a program has printed so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// living are the processes in whose environment a folder stands.
func living(dir string) (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range files {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte("="+dir)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// An interrupt ends the play about agents who stop, wherever it is: no server of tmux, no program in it, and no folder stays.
func TestStallInterrupted(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: the play about agents who stop is not interrupted")
	}
	tutti := build(t, "tutti")
	moments := []string{"", "two agents live in tmux"}
	if os.Getenv("TUTTI_SOAK") != "" {
		moments = append(moments, "both, and asks neither", "tutti watchdog watch --relauncher local-tmux", "for the first time")
	}
	for _, moment := range moments {
		left := elsewhere(t)
		dir := os.Getenv("TMPDIR")
		cmd := exec.Command(tutti, "demo", "stall")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out := &heard{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sockets := func() []string {
			all, _ := filepath.Glob(filepath.Join(dir, "td*/tmux-*/*"))
			return all
		}
		for end := time.Now().Add(30 * time.Second); moment != "" && !strings.Contains(out.String(), moment) || moment == "" && len(sockets()) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it does not come to %q:\n%s", moment, out)
			}
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as a terminal does
		err := cmd.Wait()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 130 {
			t.Errorf("interrupted at %q it ended with %v\n%s", moment, err, out)
		}
		if got, _ := filepath.Glob(filepath.Join(dir, "td*")); len(got)+len(left()) > 0 {
			t.Errorf("interrupted at %q it left %q and %q", moment, got, left())
		}
		for end := time.Now().Add(20 * time.Second); len(living(dir)) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("interrupted at %q there still are %q", moment, living(dir))
			}
		}
	}
}
