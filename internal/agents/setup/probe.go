package setup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
)

// An Answer is what a server said of itself.
type Answer struct {
	Name, Version string
	Tools         int
	Root          string // the bus that it uses, "" where it does not say so
	Source        string // and why that one
	Problem       string // what it says is wrong
	Took          time.Duration
}

const (
	// answerIn bounds the talk with a server; the programs wait one to thirty seconds.
	answerIn = 5 * time.Second
	// endIn is how long a server has to end after its input did, before it is killed.
	endIn = time.Second
	// maxLine is the longest answer that is read. A list of tools has some tens of kilobytes.
	maxLine = 4 << 20
)

// Starts tells whether a registered server is started to be asked. What stands in a project may come from strangers, and the
// programs ask their user before they start it. Of that only this very program is started, with variables that are ours.
func (q *Request) Starts(r *Registered) bool {
	if r.Err != nil || r.Owner == Foreign {
		return false
	}
	if r.Scope != driver.Project {
		return true
	}
	for _, v := range r.Server.Env {
		if !strings.HasPrefix(v[0], "H2A_") {
			return false
		}
	}
	at, err := exec.LookPath(r.Server.Command)
	if err != nil || !filepath.IsAbs(at) || len(r.Server.Args) == 0 || r.Server.Args[0] != "mcp-serve" {
		return false
	}
	a, err := os.Stat(at)
	b, err2 := os.Stat(q.Command)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// Probe starts a registered server as its program would, in the folder of the request, asks who it is, for its tools and, where it has
// the tool for it, for its bus, and ends it.
func (q *Request) Probe(ctx context.Context, d *driver.Driver, r *Registered) (*Answer, error) {
	ctx, stop := context.WithTimeout(ctx, answerIn)
	defer stop()
	c := exec.CommandContext(ctx, r.Server.Command, r.Server.Args...)
	c.Env, c.Dir = environment(d, r), q.Place.Dir
	var errs head
	c.Stderr = &errs
	alone(c)
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	// What it has started can hold its output open when it is gone itself.
	unhook := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer unhook()
	t := &talk{in: in, out: bufio.NewReaderSize(out, 64<<10)}
	a, err := t.ask()
	over := ctx.Err() != nil
	_ = in.Close()
	late := time.AfterFunc(endIn, stop)
	go func() { _, _ = io.Copy(io.Discard, t.out) }() // until it ends
	_ = c.Wait()
	late.Stop()
	switch {
	case over:
		err = fmt.Errorf("%w within %s", errSilent, answerIn)
	case err != nil && lastLine(errs.text) != "":
		err = fmt.Errorf("%w; it says: %s", err, lastLine(errs.text))
	}
	if err != nil {
		return nil, err
	}
	a.Took = time.Since(began)
	return a, nil
}

func lastLine(raw []byte) string {
	text := strings.TrimSpace(string(raw))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// alone puts a program into a group of its own, which is killed as a whole.
func alone(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = endIn
}

// A talk is the connection to a server.
type talk struct {
	in  io.Writer
	out *bufio.Reader
}

func (t *talk) ask() (*Answer, error) {
	var hello struct {
		ServerInfo struct{ Name, Version string }
	}
	if err := t.call(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tutti-host-status","version":"1"}}`, &hello); err != nil {
		return nil, err
	}
	a := &Answer{Name: hello.ServerInfo.Name, Version: hello.ServerInfo.Version}
	if _, err := io.WriteString(t.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, errSilent
	}
	var listed struct {
		Tools []struct{ Name string }
	}
	if err := t.call(2, "tools/list", `{}`, &listed); err != nil {
		return nil, err
	}
	a.Tools = len(listed.Tools)
	for _, tool := range listed.Tools {
		if tool.Name == "tutti_status" {
			t.status(a)
			break
		}
	}
	return a, nil
}

// status asks for the bus. A failure is not a fault of the connection.
func (t *talk) status(a *Answer) {
	var result struct {
		Content []struct{ Text string }
	}
	if err := t.call(3, "tools/call", `{"name":"tutti_status","arguments":{}}`, &result); err != nil {
		a.Problem = err.Error()
		return
	}
	for _, part := range result.Content {
		var said struct {
			Root, RootSource, Problem string
			Instance                  json.RawMessage
		}
		if json.Unmarshal([]byte(part.Text), &said) != nil {
			continue
		}
		a.Root, a.Source = said.Root, said.RootSource
		if said.Instance == nil { // else it has a bus, and only no agent, as is right while we look
			a.Problem = said.Problem
		}
	}
}

// call sends a request and reads the result. What else the server says meanwhile is passed over, and so is a member of another type.
func (t *talk) call(id int, method, params string, result any) error {
	if _, err := fmt.Fprintf(t.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		return fmt.Errorf("%w: it has ended", errSilent)
	}
	for {
		line, err := t.line()
		if err != nil {
			return fmt.Errorf("%w: %s: it has ended", errSilent, method)
		}
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if json.Unmarshal(line, &m) != nil || string(m.ID) != fmt.Sprint(id) {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s is refused: %.200s", method, m.Error.Message)
		}
		_ = json.Unmarshal(m.Result, result)
		return nil
	}
}

// line reads one line. One that is too long is not an answer to us.
func (t *talk) line() ([]byte, error) {
	var line []byte
	for {
		part, err := t.out.ReadSlice('\n')
		if len(line)+len(part) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line, err
	}
}
