package agentproc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/test/progfile"
)

// program copies a program under the name of an agent CLI.
func program(t *testing.T, from, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	data, err := os.ReadFile(from)
	if err == nil {
		err = progfile.Write(to, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func start(t *testing.T, home string, argv ...string) (c *exec.Cmd, out io.Reader) {
	t.Helper()
	c = exec.Command(argv[0], argv[1:]...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "HOME=") }), "HOME="+home)
	c.Dir = home
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		for _, p := range proc.WithEnv("HOME", home) { // child processes that survive its end
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	})
	return c, out
}

// own are the agents of a home.
func own(t *testing.T, home string) (found []Agent) {
	t.Helper()
	all, err := Find(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if !a.Elsewhere {
			found = append(found, a)
		}
	}
	return found
}

func TestFind(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	claude := program(t, "/bin/sleep", "claude")
	c, _ := start(t, home, claude, "300")
	away, _ := start(t, other, claude, "300")
	start(t, home, "/bin/sleep", "300")
	found := own(t, home)
	if len(found) != 1 || found[0].CLI != "claude" || found[0].Process.PID != c.Process.Pid || found[0].Dir != home {
		t.Fatalf("found %+v", found)
	}
	all, err := Find(home)
	if err != nil || !slices.ContainsFunc(all, func(a Agent) bool { return a.Process.PID == away.Process.Pid && a.Elsewhere }) {
		t.Errorf("the one of another home is not among %+v, %v", all, err)
	}
}

// TestFindWhileAgentsStartAndEnd looks at agents of another home while they start and end. In these moments the system tells nothing of a
// process, not even its home.
func TestFindWhileAgentsStartAndEnd(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	for range 2 {
		start(t, other, "/bin/sh", "-c", `while :; do "$0" 0; done`, program(t, "/bin/sleep", "claude"))
		again := program(t, "/bin/sh", "claude")
		start(t, other, again, "-c", `exec "$1" -c "$0" "$0" "$1"`, `exec "$1" -c "$0" "$0" "$1"`, again)
	}
	seen := 0
	for range 400 {
		all, err := Find(home)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if !a.Elsewhere {
				t.Fatalf("found %+v, which belongs to another home", a)
			}
			if a.Dir == other {
				seen++
			}
		}
	}
	if seen == 0 {
		t.Error("not one of the agents was seen")
	}
}

// read reads lines until all of them are there.
func read(t *testing.T, from io.Reader, lines int) []string {
	t.Helper()
	var text string
	buf := make([]byte, 256)
	for strings.Count(text, "\n") < lines {
		n, err := from.Read(buf)
		text += string(buf[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
	}
	return strings.Fields(text)
}

// TestEnd: an agent that ignores SIGTERM, a tool in a process group of its own that does so as well, and a child of that tool which
// has lost its parent are ended; a bystander in the same home is not.
func TestEnd(t *testing.T) {
	home := t.TempDir()
	shell := program(t, "/bin/bash", "claude")
	_, out := start(t, home, shell, "-c", `trap "" TERM
setsid /bin/bash -c 'trap "" TERM; (sleep 300 & echo $!); echo $$; while :; do sleep 1; done' &
wait; while :; do sleep 1; done`)
	stander, _ := start(t, home, "/bin/sleep", "300")
	pids := read(t, out, 2)
	agents := own(t, home)
	if len(agents) != 1 {
		t.Fatalf("found %+v", agents)
	}
	ended, err := End(t.Context(), agents, 300*time.Millisecond)
	if err != nil || len(ended) != 1 || !ended[0].Killed || len(ended[0].Left) != 0 || len(ended[0].Tools) < 2 {
		t.Fatalf("%+v, %v", ended, err)
	}
	for _, text := range pids {
		pid, _ := strconv.Atoi(text)
		if _, err := proc.Of(pid); err == nil {
			t.Errorf("process %d of its tools still runs", pid)
		}
	}
	if _, err := proc.Of(stander.Process.Pid); err != nil {
		t.Error("a bystander was ended")
	}
}

// TestEndCommands: the commands that an agent runs are ended, each with what it started. The agent stays, and so do its MCP servers.
func TestEndCommands(t *testing.T) {
	home := t.TempDir()
	shell := program(t, "/bin/bash", "claude")
	c, out := start(t, home, shell, "-c", `sleep 301 & echo $!
setsid /bin/bash -c 'trap "" TERM; (sleep 303 & echo $!); echo $$; while :; do sleep 1; done' &
wait; while :; do sleep 1; done`)
	pids := read(t, out, 3)
	stay, end := pids[:1], pids[1:]
	agents := own(t, home)
	if len(agents) != 1 {
		t.Fatalf("found %+v", agents)
	}
	plan, err := NoteCommands(agents)
	if err != nil {
		t.Fatal(err)
	}
	ended := plan.End(t.Context(), 300*time.Millisecond)
	if len(ended) != 1 || len(ended[0].Left) != 0 || len(ended[0].Tools) < 2 || !ended[0].Killed {
		t.Fatalf("%+v", ended)
	}
	for _, text := range end {
		pid, _ := strconv.Atoi(text)
		if _, err := proc.Of(pid); err == nil {
			t.Errorf("process %d of a command still runs", pid)
		}
	}
	for _, text := range append(stay, strconv.Itoa(c.Process.Pid)) {
		pid, _ := strconv.Atoi(text)
		if _, err := proc.Of(pid); err != nil {
			t.Errorf("process %d was ended", pid)
		}
	}
}

// TestEndSparesItself: neither the caller, nor a process above it, nor anything else below that one is signalled.
func TestEndSparesItself(t *testing.T) {
	above, err := proc.Of(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	beside, _ := start(t, t.TempDir(), "/bin/sleep", "300")
	ended, err := End(t.Context(), []Agent{{CLI: "claude", Process: above, All: []proc.ID{above}}}, 10*time.Millisecond)
	if err != nil || len(ended) != 1 || ended[0].Err == nil || !above.Alive() {
		t.Fatalf("%+v, %v", ended, err)
	}
	if _, err := proc.Of(beside.Process.Pid); err != nil {
		t.Error("a process beside the caller was ended")
	}
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "node_modules/opencode-ai")
	if err := os.MkdirAll(filepath.Join(pkg, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "package.json"), []byte(`{"name":"opencode-ai","version":"1.18.33"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, exe := range map[string]string{
		"2.1.330": "/home/ana/.local/share/claude/versions/2.1.330",
		"1.18.33": filepath.Join(pkg, "bin/opencode"),
		"":        filepath.Join(dir, "claude"),
	} {
		if got := version(exe, []string{exe}); got != want {
			t.Errorf("%s: got %q, want %q", exe, got, want)
		}
	}
}
