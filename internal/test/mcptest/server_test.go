package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A server is a running mcp-serve with a client that checks every line: each call is answered once, by a result that is no
// longer than it may be.
type serverProcess struct {
	t     testing.TB
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	errs  *locked
	ended chan struct{} // closed when the process is gone and all of its output was read

	writing sync.Mutex // held for a whole line
	count   atomic.Int64

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[int]chan answer
	notes   []note
	faults  []string
	took    map[string][]time.Duration // per tool
	longest int                        // bytes of a result
}

// locked is a buffer that is read while a program writes to it.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A note is a notification.
type note struct {
	Topic, SessionID string
	Data             struct {
		Instance, EnvelopeID string
		Backlog              bool
		Peer                 struct{ SessionID, Instance string }
	}
}

// An answer is what came back for a call.
type answer struct {
	object object // of the tool; nil where the answer is an error of the protocol
	code   int    // of that error
	took   time.Duration
	err    error // none came
}

type object = map[string]any

func (a answer) str(name string) string {
	s, _ := a.object[name].(string)
	return s
}

// failed is the text of a tool's error, "" when it did what was asked.
func (a answer) failed() string { return a.str("error") }

func (a answer) list(name string) []object {
	var all []object
	some, _ := a.object[name].([]any)
	for _, one := range some {
		m, _ := one.(object)
		all = append(all, m)
	}
	return all
}

// start starts a server of an agent in the folder of that name, and waits until its session is open.
func (r *rig) start(host, folder string) *serverProcess {
	r.t.Helper()
	s := r.begin(host, folder)
	s.ok("tutti_status", nil)
	return s
}

// begin starts a server.
func (r *rig) begin(host, folder string) *serverProcess {
	r.t.Helper()
	return r.beginWith(r.serve(host, folder), folder)
}

func (r *rig) beginWith(c *exec.Cmd, folder string) *serverProcess {
	r.t.Helper()
	s := &serverProcess{t: r.t, name: folder, cmd: c, errs: new(locked), ended: make(chan struct{}), waiting: map[int]chan answer{}, took: map[string][]time.Duration{}}
	c.Stderr = s.errs
	in, err := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		r.t.Fatal(err)
	}
	s.in = in
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	go s.read(out)
	r.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = s.in.Close()
		select {
		case <-s.ended:
		case <-time.After(patience):
			_ = c.Process.Kill()
			<-s.ended
			r.t.Errorf("the server in %s did not end with its input", folder)
		}
		for _, f := range s.faulty() {
			r.t.Error(f)
		}
		if strings.Contains(s.errs.String(), "DATA RACE") {
			r.t.Errorf("the server in %s has a race", folder)
		}
		if r.t.Failed() {
			r.t.Logf("the server in %s said:\n%s", folder, tail(s.errs.String()))
		}
	})
	return s
}

// tail is the end of what a program said, or the first race that it reports.
func tail(s string) string {
	if at := strings.Index(s, "WARNING: DATA RACE"); at >= 0 {
		return s[at:min(len(s), at+8000)]
	}
	return s[max(0, len(s)-4000):]
}

func (s *serverProcess) faulty() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// read takes every line of the server.
func (s *serverProcess) read(out io.Reader) {
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if fault := s.line(scan.Bytes()); fault != "" {
			s.mu.Lock()
			s.faults = append(s.faults, fmt.Sprintf("%s wrote a line with a fault: %s: %.300q", s.name, fault, scan.Bytes()))
			s.mu.Unlock()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = s.cmd.Wait()
	s.mu.Lock()
	for id, c := range s.waiting {
		c <- answer{err: errors.New("the server ended without an answer")}
		delete(s.waiting, id)
	}
	s.mu.Unlock()
	close(s.ended)
}

// line takes one line and says what is wrong with it.
func (s *serverProcess) line(raw []byte) string {
	var m struct {
		JSONRPC string
		ID      *int
		Method  string
		Params  note
		Result  json.RawMessage
		Error   *struct{ Code int }
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.JSONRPC != "2.0":
		return "it is not JSON-RPC 2.0"
	case m.Method != "":
		s.notes = append(s.notes, m.Params)
		return ""
	case m.ID == nil || s.waiting[*m.ID] == nil:
		return "no agent waits for it"
	case len(m.Result) > 12000:
		return fmt.Sprintf("the result has %d bytes", len(m.Result))
	}
	s.longest = max(s.longest, len(m.Result))
	a := answer{}
	fault := ""
	if m.Error != nil {
		a.code = m.Error.Code
	} else {
		a.object, fault = resultOf(m.Result)
	}
	s.waiting[*m.ID] <- a
	delete(s.waiting, *m.ID)
	return fault
}

// resultOf takes the result of a call of a tool apart.
func resultOf(raw []byte) (object, string) {
	var res struct {
		Content []struct{ Type, Text string }
		IsError *bool
	}
	var o object
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, err.Error()
	}
	if len(res.Content) != 1 {
		return nil, "" // of another method
	}
	if err := json.Unmarshal([]byte(res.Content[0].Text), &o); err != nil {
		return nil, err.Error()
	}
	if _, failed := o["error"]; res.IsError == nil || *res.IsError != failed {
		return o, "isError does not say what the object says"
	}
	return o, ""
}

// ask writes a call and returns where its answer will come.
func (s *serverProcess) ask(tool string, args any) <-chan answer {
	s.t.Helper()
	return s.request("tools/call", object{"name": tool, "arguments": args})
}

func (s *serverProcess) request(method string, params any) <-chan answer {
	s.t.Helper()
	c := make(chan answer, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	s.waiting[id] = c
	s.mu.Unlock()
	raw, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		s.writing.Lock()
		_, err = s.in.Write(append(raw, '\n'))
		s.writing.Unlock()
	}
	if err != nil {
		s.t.Errorf("write to %s: %v", s.name, err)
	}
	return c
}

// call calls a tool and waits for its answer.
func (s *serverProcess) call(tool string, args any) answer {
	s.t.Helper()
	began := time.Now()
	a := s.get(s.ask(tool, args), tool, args)
	a.took = time.Since(began)
	s.count.Add(1)
	s.mu.Lock()
	s.took[tool] = append(s.took[tool], a.took)
	s.mu.Unlock()
	return a
}

// get waits for an answer. What does not come at all is an error of the test.
func (s *serverProcess) get(c <-chan answer, tool string, args any) answer {
	s.t.Helper()
	select {
	case a := <-c:
		if a.err != nil {
			s.t.Errorf("%s of %s %.200v: %v\n%s", tool, s.name, args, a.err, tail(s.errs.String()))
		}
		return a
	case <-time.After(2 * patience):
		err := fmt.Errorf("%s of %s %.200v was not answered", tool, s.name, args)
		s.t.Error(err)
		return answer{err: err}
	}
}

// ok is call for what has to succeed.
func (s *serverProcess) ok(tool string, args any) answer {
	s.t.Helper()
	a := s.call(tool, args)
	if a.err != nil || a.object == nil || a.failed() != "" {
		s.t.Fatalf("%s of %s %v: %v %d %v\n%s", tool, s.name, args, a.object, a.code, a.err, tail(s.errs.String()))
	}
	return a
}

// me is the instance that a server speaks as.
func (s *serverProcess) me() string {
	s.t.Helper()
	return s.ok("tutti_status", nil).str("instance")
}

// session is the id of the one session that the server opened.
func (s *serverProcess) session() string {
	s.t.Helper()
	all, _ := s.ok("tutti_status", nil).object["sessions"].([]any)
	if len(all) != 1 {
		s.t.Fatalf("sessions of %s: %v", s.name, all)
	}
	return all[0].(string)
}

// noted returns the notifications so far for which is holds.
func (s *serverProcess) noted(is func(note) bool) []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []note
	for _, n := range s.notes {
		if is(n) {
			some = append(some, n)
		}
	}
	return some
}

// arrived are the pushes about one message.
func (s *serverProcess) arrived(id string) int {
	return len(s.noted(func(n note) bool { return n.Topic == "inbox.envelope_arrived" && n.Data.EnvelopeID == id }))
}

func (s *serverProcess) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// end sends a signal, or with 0 closes the input, and returns the exit status and how long it took.
func (s *serverProcess) end(sig syscall.Signal) (int, time.Duration) {
	s.t.Helper()
	began := time.Now()
	if sig == 0 {
		_ = s.in.Close()
	} else {
		s.signal(sig)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("the server in %s does not end", s.name)
	}
	return s.cmd.ProcessState.ExitCode(), time.Since(began)
}

// anon is the anonymous memory of the process in KiB.
func (s *serverProcess) anon() int {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "RssAnon:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// files are the open files of the process: what each descriptor stands for.
func (s *serverProcess) files() []string {
	s.t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, p := range paths {
		to, err := os.Readlink(p)
		if err == nil { // one that was closed just now
			all = append(all, to)
		}
	}
	slices.Sort(all)
	return all
}
