package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/hostile"
)

// programs builds both programs once, as they are installed, and returns their folder.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tutti-mcp")
	if err != nil {
		return "", err
	}
	builtIn = dir
	if err := look("../../../../cmd", "../../.."); err != nil {
		return dir, err
	}
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+"/", "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, os.Symlink("tutti", filepath.Join(dir, "h2a"))
})

// look looks at all sources below some folders. Next to nothing of the programs is in the test itself: by this go test knows that a result
// from before they were changed says nothing of them.
func look(folders ...string) error {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

var builtIn string // the folder of the programs, if they were built

// A rig is a bus with servers on it, in the home of a user of its own.
type rig struct {
	t    *testing.T
	bin  string
	home string
	root string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts the programs")
	}
	if boundtest.Race {
		t.Skip("the servers are built without the detector; those of mcptest have it")
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &rig{t: t, bin: bin, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "bus")}
	if err := os.Mkdir(r.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) command(program string, args []string, env ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(r.bin, program), args...)
	c.Env = append([]string{"HOME=" + r.home, "H2A_ROOT=" + r.root, "PATH=/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=disabled:"}, env...)
	c.Dir = r.home
	return c
}

// run runs a command of the program and returns what it prints.
func (r *rig) run(args ...string) string {
	r.t.Helper()
	out, err := r.command("tutti", args).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tutti %q: %v: %s", args, err, out)
	}
	return string(out)
}

// A server is a running mcp-serve.
type serverProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // answers
	notes chan string // notifications
	errs  *bytes.Buffer
	ended chan struct{}
	next  int
}

// start starts a server in a folder of that name.
func (r *rig) start(name string, args []string, env ...string) *serverProcess {
	r.t.Helper()
	return r.serve(name, r.command("tutti-full", append([]string{"mcp-serve"}, args...), env...))
}

// serve starts a command that is, or starts, a server.
func (r *rig) serve(name string, c *exec.Cmd) *serverProcess {
	r.t.Helper()
	c.Dir = filepath.Join(r.home, name)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	s := &serverProcess{t: r.t, cmd: c, errs: new(bytes.Buffer), lines: make(chan string, 100), notes: make(chan string, 10000), ended: make(chan struct{})}
	c.Stderr = s.errs
	var err error
	if s.in, err = c.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	go s.read(out)
	r.t.Cleanup(func() {
		s.in.Close()
		select {
		case <-s.ended:
		case <-time.After(5 * time.Second):
			c.Process.Kill()
			<-s.ended
			r.t.Errorf("%s did not end with its input", name)
		}
	})
	return s
}

func (s *serverProcess) read(out io.Reader) {
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var m map[string]json.RawMessage
		if json.Unmarshal(scan.Bytes(), &m) == nil && m["method"] != nil {
			s.notes <- scan.Text()
		} else {
			s.lines <- scan.Text()
		}
	}
	close(s.lines)
	_ = s.cmd.Wait()
	close(s.ended)
}

// patience is how long a test waits for what has to come: machines are slow when everything is tested at once.
const patience = 20 * time.Second

func (s *serverProcess) write(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("write %s: %v", line, err)
	}
}

func (s *serverProcess) line() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatalf("the server has ended: %s", s.errs)
		}
		return line
	case <-time.After(patience):
		s.t.Fatal("no answer")
	}
	return ""
}

// note waits for a notification that has a text in it.
func (s *serverProcess) note(with string) string {
	s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case n := <-s.notes:
			if strings.Contains(n, with) {
				return n
			}
		case <-late:
			s.t.Fatalf("no notification with %s", with)
		}
	}
}

// An answer is what a tool said.
type answer map[string]any

func (a answer) str(name string) string {
	s, _ := a[name].(string)
	return s
}

// list are the objects of a list.
func (a answer) list(name string) []answer {
	var all []answer
	some, _ := a[name].([]any)
	for _, one := range some {
		m, _ := one.(map[string]any)
		all = append(all, m)
	}
	return all
}

// call calls a tool and checks what holds for every result.
func (s *serverProcess) call(tool string, args any) answer {
	s.t.Helper()
	s.next++
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": s.next, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(string(raw))
	line := s.line()
	var m struct {
		ID     int
		Result json.RawMessage
	}
	var res struct {
		Content []struct{ Type, Text string }
		IsError *bool
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != s.next || len(m.Result) > 12000 {
		s.t.Fatalf("%s %s: id %d (want %d), result of %d bytes, %v: %.300s", tool, raw, m.ID, s.next, len(m.Result), err, line)
	}
	var a answer
	if err := json.Unmarshal(m.Result, &res); err != nil || len(res.Content) != 1 || json.Unmarshal([]byte(res.Content[0].Text), &a) != nil {
		s.t.Fatalf("%s: no result: %v: %.300s", tool, err, line)
	}
	if strings.ContainsFunc(line, termsafe.Unsafe) {
		s.t.Errorf("%s: a character that a terminal obeys, or that is not seen: %q", tool, line)
	}
	if strings.HasPrefix(tool, "tutti_") {
		s.harmless(tool, map[string]any(a))
	}
	if _, failed := a["error"]; res.IsError == nil || *res.IsError != failed {
		s.t.Errorf("%s: isError does not say what the object says: %.300s", tool, line)
	}
	return a
}

// harmless checks every text of an answer that a model reads.
func (s *serverProcess) harmless(tool string, v any) {
	s.t.Helper()
	switch v := v.(type) {
	case string:
		if harm := hostile.Harm(strings.ReplaceAll(v, "\t", " ")); harm != "" {
			s.t.Errorf("%s gives a model %s", tool, harm)
		}
	case []any:
		for _, one := range v {
			s.harmless(tool, one)
		}
	case map[string]any:
		for name, one := range v {
			s.harmless(tool, name)
			s.harmless(tool, one)
		}
	}
}

// ok is call for what has to succeed.
func (s *serverProcess) ok(tool string, args any) answer {
	s.t.Helper()
	a := s.call(tool, args)
	if a["error"] != nil {
		s.t.Fatalf("%s %v: %v", tool, args, a)
	}
	return a
}

// refused is call for what has to be refused, with a text in the error.
func (s *serverProcess) refused(with, tool string, args any) answer {
	s.t.Helper()
	a := s.call(tool, args)
	if !strings.Contains(a.str("error"), with) {
		s.t.Errorf("%s %v: got %v, want an error with %q", tool, args, a, with)
	}
	return a
}

// me is the instance that a server speaks as.
func (s *serverProcess) me() string {
	s.t.Helper()
	return s.ok("tutti_status", nil).str("instance")
}

// end sends a signal, or closes the input, and returns the exit status and how long it took.
func (s *serverProcess) end(sig syscall.Signal) (int, time.Duration) {
	s.t.Helper()
	began := time.Now()
	if sig == 0 {
		s.in.Close()
	} else if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("it does not end")
	}
	return s.cmd.ProcessState.ExitCode(), time.Since(began)
}

type object = map[string]any
