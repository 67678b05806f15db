package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
	"tutti/internal/test/progfile"
)

// A replaced is a home folder with an installation under the former names, and a newer build beside it.
type replaced struct {
	*testing.T
	home, bin, fresh string
}

func newReplaced(t *testing.T) *replaced {
	t.Helper()
	dir := t.TempDir()
	r := &replaced{t, filepath.Join(dir, "home"), filepath.Join(dir, "home", "bin"), filepath.Join(dir, "fresh")}
	old := filepath.Join(dir, "old")
	for _, d := range []string{r.home, r.bin, old} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.build("old", old)
	r.build("new", r.fresh)
	for _, name := range []string{"tutti", "tuttid"} { // the former tutti went on as the tuttid beside it
		data, err := os.ReadFile(filepath.Join(old, "tutti-full"))
		if err == nil {
			err = progfile.Write(filepath.Join(r.bin, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *replaced) build(id, to string) {
	r.Helper()
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X tutti/internal/faces/cli/kit.Build="+id, "-o", to+"/", "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		r.Fatalf("%v\n%s", err, out)
	}
}

func (r *replaced) command(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Dir = r.home
	c.Env = []string{"HOME=" + r.home, "PATH=" + r.bin + ":/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=disabled:"}
	return c
}

func (r *replaced) run(path string, args ...string) string {
	r.Helper()
	out, err := r.command(path, args...).CombinedOutput()
	if err != nil {
		r.Fatalf("%s %q: %v\n%s", path, args, err, out)
	}
	return string(out)
}

// A served is an agent CLI that has a server of the former build.
type served struct {
	r     *replaced
	in    io.Writer
	out   *bufio.Scanner
	calls int
}

func (r *replaced) serve(name string) *served {
	r.Helper()
	c := r.command(filepath.Join(r.bin, "tuttid"), "mcp-serve", "--auto-open", "--host", "gemini", "--name", name)
	in, err := c.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		in.Close()
		_ = c.Wait()
	})
	s := &served{r: r, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 1<<20)
	s.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// ask sends a request and returns its answer.
func (s *served) ask(method string, params any) string {
	s.r.Helper()
	s.calls++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.calls, "method": method, "params": params})
	if err != nil {
		s.r.Fatal(err)
	}
	fmt.Fprintf(s.in, "%s\n", raw)
	for s.out.Scan() {
		var m struct{ ID int }
		if json.Unmarshal(s.out.Bytes(), &m) == nil && m.ID == s.calls {
			return s.out.Text()
		}
	}
	s.r.Fatalf("%s: the server has ended: %v", method, s.out.Err())
	return ""
}

// TestUpgradeFromFormerNames: an installation that still has a tuttid is replaced under three live agents. Nothing is lost, what names
// tuttid goes on, and doctor names the servers of the former build.
func TestUpgradeFromFormerNames(t *testing.T) {
	if boundtest.Race {
		t.Skip("it tries whole programs, which are built without the detector")
	}
	t.Parallel()
	r := newReplaced(t)
	tutti := filepath.Join(r.bin, "tutti")
	r.run(tutti, "init")
	var all []*served
	for _, name := range []string{"ana", "bob", "kim"} {
		all = append(all, r.serve(name))
	}
	r.run(tutti, "connect", "--host", "codex", "--name", "dan")
	r.run(tutti, "send", "--as", "codex:dan", "gemini:ana", "sent before")

	r.run(filepath.Join(r.fresh, "tutti"), "install", "--dir", r.bin)
	if got := r.run(tutti, "version"); !strings.Contains(got, "build new") {
		t.Fatalf("the new build is not installed: %s", got)
	}
	if to, err := os.Readlink(filepath.Join(r.bin, "tuttid")); err != nil || to != "tutti-full" {
		t.Errorf("tuttid leads to %q, %v", to, err)
	}
	r.run(tutti, "send", "--as", "codex:dan", "gemini:ana", "sent after")
	got := all[0].ask("tools/call", map[string]any{"name": "tutti_receive", "arguments": map[string]any{}})
	for _, text := range []string{"sent before", "sent after"} {
		if strings.Count(got, text) == 0 {
			t.Errorf("%q is lost: %s", text, got)
		}
	}
	doctor, _ := r.command(tutti, "doctor").CombinedOutput() // it fails for other reasons here, such as keys of nobody
	if n := strings.Count(string(doctor), "is of another build"); n != len(all) {
		t.Errorf("doctor names %d servers of the former build, want %d\n%s", n, len(all), doctor)
	}
	r.run(tutti, "halt", "stop")
	hook := r.command(filepath.Join(r.bin, "tuttid"), "hook", "claude", "PreToolUse", "--all-tools")
	hook.Stdin = strings.NewReader(`{"session_id":"s1","cwd":"` + r.home + `","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`)
	if out, err := hook.CombinedOutput(); err != nil || !strings.Contains(string(out), `"deny"`) {
		t.Errorf("a hook under the former name answers %q, %v", out, err)
	}
	if got := all[1].ask("tools/call", map[string]any{"name": "tutti_send", "arguments": map[string]any{"to": "gemini:kim", "text": "x"}}); !strings.Contains(got, "halt active") {
		t.Errorf("a server of the former build sends while halted: %s", got)
	}
}
