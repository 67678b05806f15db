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

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/test/progfile"
)

// mailHome is a home folder with a bus and two agents on it.
type mailHome struct {
	t    *testing.T
	home string
	a, b string
}

// file writes a file that can be run.
func (h *mailHome) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := progfile.Write(path, []byte(text), 0o700); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// agent puts tutti into the home folder, and a shell that is called as an agent CLI: what it runs is below an agent.
func (h *mailHome) agent(name string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(h.home, "tutti")); err != nil {
		h.t.Fatal(err)
	}
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		h.t.Fatal(err)
	}
	h.file(name, string(sh))
}

func newMailHome(t *testing.T) *mailHome {
	t.Helper()
	h := &mailHome{t: t, home: t.TempDir()}
	if out, err := h.command("init").CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	for host, to := range map[string]*string{"claude": &h.a, "codex": &h.b} {
		out, err := h.command("connect", "--host", host, "--name", "api", "--json").Output()
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		raw, _ := canonjson.Get(out, "instance")
		*to, _ = canonjson.String(raw)
	}
	return h
}

// command is this test binary as tutti.
func (h *mailHome) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "tutti"
	cmd.Dir = h.home
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "TUTTI_INSTANCE=" + h.a, "GORACE=" + os.Getenv("GORACE")}
	return cmd
}

// stored counts the messages in the mailbox of b.
func (h *mailHome) stored() int {
	all, _ := filepath.Glob(filepath.Join(h.home, "h2a-workspace/.h2a/inbox/codex__*/*.json"))
	return len(all)
}

// An interrupt while the text is read refuses the message, with that word.
func TestInterruptWhileReading(t *testing.T) {
	t.Parallel()
	h := newMailHome(t)
	cmd := h.command("send", h.b, "-")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdin = in
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	// More than a pipe holds: when it is written the program is reading, and by then it catches interrupts.
	if _, err := out.Write(bytes.Repeat([]byte("x"), 100<<10)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != kit.ExitInterrupted {
		t.Errorf("exit status: got %d, want %d", got, kit.ExitInterrupted)
	}
	if want := "refused: interrupted, nothing was sent\n"; !strings.HasSuffix(said.String(), want) {
		t.Errorf("standard error: got %q, want it to end with %q", said.String(), want)
	}
	if n := h.stored(); n != 0 {
		t.Errorf("messages stored: got %d, want none", n)
	}
}

// TestInterruptedSend: a send that is interrupted at any moment reports the truth: a refused message is not stored, and a stored one is
// reported as deposited.
func TestInterruptedSend(t *testing.T) {
	t.Parallel()
	h := newMailHome(t)
	const times = 40
	words := map[string]int{}
	for n := range times {
		before := h.stored()
		cmd := h.command("send", h.b, "hello")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(n) * 12 * time.Millisecond / times) // a moment of the send, not a wait for it
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		word := ""
		switch status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); {
		case strings.HasPrefix(out.String(), "stored for "):
			word = "deposited"
		case strings.Contains(errs.String(), "refused: interrupted, nothing was sent"):
			word = "refused"
		case status.Signaled():
			word = "killed" // before the verb began
		}
		words[word]++
		stored := h.stored() - before
		if want := map[string]int{"deposited": 1}[word]; word == "" || stored != want {
			t.Errorf("run %d: said %q, stored %d, want %d\nstandard output: %s\nstandard error: %s", n, word, stored, want, &out, &errs)
		}
	}
	t.Log(words)
}
