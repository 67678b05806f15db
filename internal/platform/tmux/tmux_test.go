package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/progfile"
)

// socketDir is short, because the path of a socket may have 107 bytes, and ours alone, so that no test ever meets a
// server of the user.
func TestMain(m *testing.M) {
	if server := os.Getenv("TUTTI_TEST_WATCH"); server != "" {
		os.Exit(watchForEver(server))
	}
	dir, err := os.MkdirTemp("/tmp", "tt")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMUX_TMPDIR", dir)
	os.Unsetenv("TMUX")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: typing into panes is not tested")
	}
}

// A world is a server of tmux for one test.
type world struct {
	t *testing.T
	Server
	dir string
}

// start starts a server with one session named "first" that runs the program; nil: cat, which shows what is typed.
func start(t *testing.T, argv ...string) *world {
	t.Helper()
	needTmux(t)
	s, err := Named("t" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, s, t.TempDir()}
	t.Cleanup(w.end)
	w.new("first", argv...)
	return w
}

func (w *world) end() {
	out, err := w.tmux("kill-server").CombinedOutput()
	if said := strings.TrimSpace(string(out)); err != nil && !saysAbsent(said) && said != "server exited unexpectedly" { // it was ending already
		w.t.Errorf("kill-server: %v: %s", err, out)
	}
}

func (w *world) tmux(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", w.name}, args...)...)
}

// do runs a command of tmux as a user would.
func (w *world) do(args ...string) string {
	w.t.Helper()
	out, err := w.tmux(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// new makes a session and returns its pane, once the program is in front.
func (w *world) new(name string, argv ...string) Pane {
	w.t.Helper()
	if len(argv) == 0 {
		argv = []string{"cat", "-"}
	}
	args := []string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", "200", "-y", "50", "-c", w.dir, "--"}
	id := w.do(append(append(args, argv...), ";", "set-option", "-p", "remain-on-exit", "on")...)
	return w.until(id, argv[0]+" in front", func(p Pane) bool { return p.Dead || p.Command == argv[0] || argv[0] == "sh" })
}

// pane returns what a pane is now.
func (w *world) pane(id string) Pane {
	w.t.Helper()
	snap, err := w.Panes(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	p, ok := snap.Find(id)
	if !ok {
		w.t.Fatalf("pane %s: not among %v", id, snap.Panes)
	}
	return p
}

func (w *world) until(id, what string, ok func(Pane) bool) Pane {
	w.t.Helper()
	var p Pane
	eventually(w.t, func() (string, bool) {
		p = w.pane(id)
		return fmt.Sprintf("pane %s: want %s, have %+v", id, what, p), ok(p)
	})
	return p
}

// eventually asks until the answer is yes. Loaded machines take seconds to start a program.
func eventually(t *testing.T, ask func() (string, bool)) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		say, ok := ask()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal(say)
		}
	}
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

// holds waits until a file has so many bytes and returns them.
func (w *world) holds(name string, n int) string {
	w.t.Helper()
	var data []byte
	eventually(w.t, func() (string, bool) {
		data, _ = os.ReadFile(w.file(name))
		return fmt.Sprintf("%s has %d bytes, want %d: %.300q", name, len(data), n, data), len(data) >= n
	})
	return string(data)
}

// recorder is a program that shows "ready" and then writes every byte that it is given to a file, as raw as agent programs
// read. mode is printed first.
func (w *world) recorder(name, file, mode string) Pane {
	w.t.Helper()
	p := w.new(name, "sh", "-c", `stty raw -echo; printf "$2"'ready\r\n'; exec cat >"$1"`, "sh", w.file(file), mode)
	return w.until(p.ID, "cat reading", func(p Pane) bool {
		text, err := w.Capture(w.t.Context(), p.Ref(), Capture{})
		return err == nil && strings.Contains(text, "ready") && p.Command == "cat"
	})
}

func want(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: got error %v, want one of kind %q", what, err, kind)
	}
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"../x", "a/b", "a b", ".", "a;b", "ä", "a\n", strings.Repeat("x", 65)} {
		if _, err := Named(bad); err == nil {
			t.Errorf("server name %q is taken", bad)
		}
	}
	for name, say := range map[string]string{"": "default", "a_B-9": "a_B-9"} {
		s, err := Named(name)
		if err != nil || s.String() != say || !slices.Equal(s.at(), []string{"-u", "-N", "-L", say}) {
			t.Errorf("server name %q: %v, %v, arguments %q", name, s, err, s.at())
		}
	}
	if s := (Server{}); !slices.Contains(s.at(), "default") {
		t.Errorf("the zero server has arguments %q", s.at())
	}
}

func TestServerFromEnvironment(t *testing.T) {
	t.Parallel()
	s, err := FromEnv("/tmp/a,b/default,4711,0")
	if err != nil || s.socket != "/tmp/a,b/default" || s.pid != 4711 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "/tmp/x", "/tmp/x,1", "tmux,1,0", "/tmp/x,,0", "/tmp/x,-1,0", "/tmp/x,0,0", "/t\nx,1,0", "/t\x00x,1,0"} {
		if s, err := FromEnv(bad); err == nil {
			t.Errorf("$TMUX=%q is taken: %+v", bad, s)
		}
	}
}

func TestNoServer(t *testing.T) {
	needTmux(t)
	t.Parallel()
	s, err := Named("n" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	ref := Ref{Server: 1 << 22, Started: 1, ID: "%0", PID: 1 << 22}
	_, err = s.Panes(t.Context())
	want(t, "panes", err, ErrAbsent)
	want(t, "paste", s.Paste(t.Context(), ref, "x"), ErrAbsent)
	want(t, "enter", s.Enter(t.Context(), ref), ErrAbsent)
	_, err = s.Capture(t.Context(), ref, Capture{})
	want(t, "capture", err, ErrAbsent)
	if _, err := os.Stat(filepath.Join(os.Getenv("TMUX_TMPDIR"), "tmux-"+strconv.Itoa(os.Getuid()), s.name)); err == nil {
		t.Error("asking has made a socket")
	}
}

func TestStaleSocket(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.pane("%0")
	server, err := os.FindProcess(p.Server)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil { // the server of this test; it leaves its socket behind
		t.Fatal(err)
	}
	eventually(t, func() (string, bool) {
		_, err := w.Panes(t.Context())
		return fmt.Sprintf("panes of a killed server: %v", err), errors.Is(err, ErrAbsent)
	})
	want(t, "paste", w.Paste(t.Context(), p.Ref(), "x"), ErrAbsent)
}

// A socket that may not be used says nothing about the server behind it.
func TestUnknownIsNotAbsent(t *testing.T) {
	needTmux(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), strings.Repeat("x", 200)) // longer than a socket's path may be
	s, err := FromEnv(file + ",12,0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Panes(t.Context())
	var said *CommandError
	if errors.Is(err, ErrAbsent) || !errors.As(err, &said) || said.Said == "" || said.Command != "list-panes" {
		t.Errorf("got %v, want an error that says what tmux said, and not absence", err)
	}
}

func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Server{}.Panes(t.Context())
	want(t, "panes", err, ErrMissing)
	if got := err.Error(); !strings.Contains(got, "not installed") {
		t.Errorf("the message is %q", got)
	}
	want(t, "type", Server{}.Type(t.Context(), Ref{Server: 1, Started: 1, ID: "%0", PID: 1}, "x"), ErrMissing)
}

// A server that does not answer is given up, in the time of the caller or in our own.
func TestHangingServer(t *testing.T) {
	dir := t.TempDir()
	if err := progfile.Write(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("halted"))
	defer cancel()
	begin := time.Now()
	_, err := Server{}.Panes(ctx)
	if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), "halted") || took > Limit {
		t.Errorf("after %s: %v, want the cause of the context's end", took, err)
	}
	if errors.Is(err, ErrAbsent) {
		t.Errorf("a server that does not answer is taken for absent: %v", err)
	}
}

func TestTooMuchOutput(t *testing.T) {
	dir := t.TempDir()
	if err := progfile.Write(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\nexec cat /dev/zero\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	_, err := Server{}.Panes(t.Context())
	want(t, "panes", err, errLarge)
}
