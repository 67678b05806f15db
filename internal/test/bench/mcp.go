package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A connection is a server process with its client at the other end of the pipes. Answers are read by whoever asks, so
// that no goroutine of ours stands between the server's write and the clock.
type connection struct {
	answer string // the last one
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   *os.File
	out    *bufio.Reader
	next   int
}

// patience is how long an answer may take before the row fails.
const patience = 10 * time.Second

// connect starts a server for an agent of the town, or for nobody. It does not speak to it yet.
func (t *town) connect(who string, args ...string) (*connection, error) {
	cmd := t.command(who, append([]string{"mcp-serve"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return &connection{cmd: cmd, in: in, pipe: out, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// attend connects an agent, says hello and opens a session for it, so that it is there and gets pushes.
func (t *town) attend(who string) (*connection, error) {
	c, err := t.connect(who)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.hello(), c.tool("h2a_session_open", map[string]any{"instance": who})); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

func (c *connection) hello() error {
	return c.ask("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
}

// tool calls a tool, whose answer must not be an error.
func (c *connection) tool(name string, args map[string]any) error {
	return c.ask("tools/call", map[string]any{"name": name, "arguments": args})
}

// ask sends a request and reads until its answer is there.
func (c *connection) ask(method string, params map[string]any) error {
	c.next++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return err
	}
	answer, err := c.until(fmt.Sprintf(`"id":%d,`, c.next))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case strings.Contains(answer, `"isError":true`), strings.Contains(answer, `"error":{"code"`):
		return fmt.Errorf("%s: %s", method, answer)
	}
	c.answer = answer
	return nil
}

// until reads lines up to the first one with the mark in it.
func (c *connection) until(mark string) (string, error) {
	if err := c.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return "", err
		}
		if strings.Contains(line, mark) {
			return line, nil
		}
	}
}

// end closes the server's input and waits until it is gone.
func (c *connection) end() error {
	_ = c.in.Close() // it may have gone by itself
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	err := c.cmd.Wait()
	_ = c.pipe.Close()
	return err
}
