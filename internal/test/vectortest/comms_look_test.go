package vectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/comms/watcher"
	"tutti/internal/halt"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/progfile"
)

// patience is how long something is waited for that takes milliseconds on a machine with nothing else to do.
const patience = 30 * time.Second

// statusHalted runs cross-agent-status while everything is halted.
func statusHalted(t *testing.T, c kase) {
	var v struct {
		ID, St, Component, When string
		Expect                  struct {
			Exit   int
			IsJSON bool            `json:"stdout_is_json"`
			Path   map[string]bool `json:"json_path"`
			Stderr string          `json:"stderr_contains"`
		}
	}
	c.into(t, &v)
	if boundtest.Race {
		t.Skip("a process of one goroutine: the detector takes a second and sees no race")
	}
	if v.Component != "status --json" || v.When != "start" {
		t.Fatalf("no test knows how to run %q when %q", v.Component, v.When)
	}
	layHalt(t, `regular file "a test"`)
	self, err := os.Executable()
	program := filepath.Join(t.TempDir(), "cross-agent-status")
	if err == nil {
		err = os.Symlink(self, program)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(program, "--json")
	cmd.Env = []string{asProgram + "=1", "HOME=" + os.Getenv("HOME"), "PATH=/usr/bin:/bin"}
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != v.Expect.Exit {
		t.Errorf("exit status %d, want %d: %s", got, v.Expect.Exit, errs.String())
	}
	var object map[string]any
	if err := json.Unmarshal(out.Bytes(), &object); (err == nil) != v.Expect.IsJSON {
		t.Errorf("standard output: %v\n%s", err, out.String())
	}
	for path, want := range v.Expect.Path {
		first, second, _ := strings.Cut(path, ".")
		within, _ := object[first].(map[string]any)
		if within[second] != want {
			t.Errorf("%s is %v, want %v", path, within[second], want)
		}
	}
	if !strings.Contains(errs.String(), v.Expect.Stderr) {
		t.Errorf("standard error %q, want %q in it", errs.String(), v.Expect.Stderr)
	}
}

// watchHalted lets messages come while the watcher runs and everything is halted, and clears that where the case says so.
func watchHalted(t *testing.T, c kase) {
	var v struct {
		ID, St, Component, When string
		Expect                  struct {
			Running, Notified bool
			Log               string `json:"log_contains"`
			OneSummary        bool   `json:"one_summary_per_project"`
		}
	}
	c.into(t, &v)
	clears := false
	switch v.When {
	case "event":
	case "HALT removed after suppressed events":
		clears = true
	default:
		t.Fatalf("no test knows how to run %q when %q", v.Component, v.When)
	}
	w := newWatched(t)
	first := w.put(t, w.alpha, 1)
	w.until(t, "the message that lay there", func() bool { return strings.Contains(w.said(), first) })
	if _, _, err := halt.Raise("a test"); err != nil {
		t.Fatal(err)
	}
	second, third := w.put(t, w.notes, 2), w.put(t, w.notes, 3)
	w.until(t, "marked lines", func() bool {
		return strings.Contains(w.line(second), "(suppressed by HALT)") && strings.Contains(w.line(third), "(suppressed by HALT)")
	})
	if clears {
		if _, err := halt.Clear(); err != nil {
			t.Fatal(err)
		}
		w.until(t, "a notice", func() bool { return strings.Contains(w.said(), third) })
	}
	if running := w.running(); running != (v.Expect.Running || clears) {
		t.Errorf("running: %v", running)
	}
	w.stop(t)
	notices := strings.Count(w.said(), "notes:")
	if (notices > 0) != v.Expect.Notified || v.Expect.OneSummary && notices != 1 {
		t.Errorf("%d notices about the project:\n%s", notices, w.said())
	}
	if !strings.Contains(w.text(), v.Expect.Log) {
		t.Errorf("the log has no %q:\n%s", v.Expect.Log, w.text())
	}
}

// A watched is a running watcher over the mailboxes of two projects, whose notices go into a file.
type watched struct {
	office       *exchange.Service
	alpha, notes exchange.Project
	log, notices string
	cancel       context.CancelFunc
	done         chan error
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{done: make(chan error, 1)}
	w.office, w.alpha, w.notes = commsOffice(t)
	w.log, w.notices = filepath.Join(w.office.Home, "log"), filepath.Join(w.office.Home, "notices")
	program := filepath.Join(w.office.Home, "notify")
	if err := progfile.Write(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$2\" >>\"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []exchange.Project{w.alpha, w.notes} {
		b, err := w.office.MakeMailbox(p)
		if err == nil {
			err = b.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		w.done <- watcher.Run(ctx, watcher.Options{Office: w.office, Log: w.log, NotifyCommand: []string{program, w.notices, "{body}"}})
	}()
	return w
}

// put lays a message into a mailbox, as another program does.
func (w *watched) put(t *testing.T, p exchange.Project, n int) string {
	t.Helper()
	at := time.Now().Add(time.Duration(n-1000) * time.Second)
	name, err := protocol.FormatName(at, "beta", "test-conv")
	text := "#+TITLE: T\n#+CONVERSATION_ID: test-conv\n#+MESSAGE_TYPE: request\n#+SEQUENCE: 1\n#+TIMESTAMP: " +
		protocol.FormatTime(at) + "\n#+PROTOCOL_VERSION: 5\n\nText\n"
	for _, end := range []string{".asc", ""} {
		tmp := filepath.Join(p.MailboxPath(), ".tmp.x"+end)
		err = errors.Join(err, os.WriteFile(tmp, []byte(text), 0o600), os.Rename(tmp, filepath.Join(p.MailboxPath(), name+end)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (w *watched) text() string {
	data, _ := os.ReadFile(w.log) // it is made with the first line
	return string(data)
}

func (w *watched) said() string {
	data, _ := os.ReadFile(w.notices) // the same
	return string(data)
}

// line is what the log says of a message.
func (w *watched) line(name string) string {
	for line := range strings.Lines(w.text()) {
		if strings.Contains(line, name) {
			return line
		}
	}
	return ""
}

func (w *watched) running() bool { return len(w.done) == 0 }

func (w *watched) until(t *testing.T, what string, seen func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !seen(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) || !w.running() {
			t.Fatalf("there came no %s; the log:\n%s\nnotices:\n%s", what, w.text(), w.said())
		}
	}
}

// stop ends the watcher and waits for its last notice.
func (w *watched) stop(t *testing.T) {
	t.Helper()
	w.cancel()
	select {
	case err := <-w.done:
		if err != nil {
			t.Errorf("the watcher ends with %v", err)
		}
	case <-time.After(patience):
		t.Error("the watcher does not end")
	}
}
