//go:build e2e

package e2etest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An appServer is "codex app-server" as an editor runs it: requests and notifications, one JSON object a line.
type appServer struct {
	t     *testing.T
	in    io.Writer
	lines chan appLine
	last  int
	end   func()
}

type appLine struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

func newAppServer(t *testing.T, d desk) *appServer {
	t.Helper()
	c := d.command(t, "app-server")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &appServer{t: t, in: in, lines: make(chan appLine, 1000)}
	go func() {
		defer close(s.lines)
		for r := bufio.NewReader(out); ; {
			raw, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var l appLine
			if json.Unmarshal(raw, &l) == nil {
				s.lines <- l
			}
		}
	}()
	s.end = func() {
		_ = in.Close()
		for range s.lines { // until it has said all
		}
		if err := c.Wait(); err != nil {
			t.Errorf("app-server: %v", err)
		}
	}
	s.call("initialize", object{"clientInfo": object{"name": "editor", "title": "editor", "version": "0"}})
	s.send(object{"method": "initialized"})
	return s
}

func (s *appServer) send(o object) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.in, compact(o)); err != nil {
		s.t.Fatal(err)
	}
}

// next is the first line that will do.
func (s *appServer) next(what string, will func(appLine) bool) appLine {
	s.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case l, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("%s: the server has ended", what)
			}
			if will(l) {
				return l
			}
		case <-limit:
			s.t.Fatalf("%s: in vain", what)
		}
	}
}

// call is the result of a request.
func (s *appServer) call(method string, params object) json.RawMessage {
	s.t.Helper()
	s.last++
	id := s.last
	s.send(object{"id": id, "method": method, "params": params})
	l := s.next(method, func(l appLine) bool { return l.ID == id && l.Method == "" })
	if l.Error != nil {
		s.t.Fatalf("%s: %s", method, l.Error)
	}
	return l.Result
}

// TestCodexAppServerCalls: Codex as the server of an editor finds our tools and calls them for the editor and for the model, and both get
// our server's answer.
func TestCodexAppServerCalls(t *testing.T) {
	agentPrograms(t)
	home := t.TempDir()
	root := filepath.Join(home, "bus")
	ben := connect(t, home, root, "agy", "ben")
	m := newModel(t, codex.steps(t, step{tool: "tutti_send", args: with(object{"to": ben, "text": "from the model"})}))
	wire := filepath.Join(home, "wire")
	d := newDesk(t, codex, home, m.http.URL, os.Args[0], "wire", wire, here.full, "mcp-serve", "--root", root, "--auto-open", "--host", "codex", "--name", "ana")
	s := newAppServer(t, d)
	defer s.end()

	var list struct {
		Data []struct {
			Name  string
			Tools map[string]json.RawMessage
		}
	}
	raw := s.call("mcpServerStatus/list", object{})
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Data) != 1 || list.Data[0].Name != "tutti" || list.Data[0].Tools["tutti_send"] == nil {
		t.Errorf("servers: %v\n%s", err, raw)
	}

	var started struct{ Thread struct{ ID string } }
	raw = s.call("thread/start", object{"cwd": d.work, "ephemeral": true})
	if err := json.Unmarshal(raw, &started); err != nil || started.Thread.ID == "" {
		t.Fatalf("%v\n%s", err, raw)
	}
	thread := started.Thread.ID
	said := func(tool string, args object) string {
		t.Helper()
		raw := s.call("mcpServer/tool/call", object{"threadId": thread, "server": "tutti", "tool": tool, "arguments": args})
		var result struct {
			Content []struct{ Text string }
			IsError bool
		}
		if err := json.Unmarshal(raw, &result); err != nil || result.IsError || len(result.Content) != 1 {
			t.Fatalf("%s: %v\n%s", tool, err, raw)
		}
		if got, sent := result.Content[0].Text, readWire(t, wire).results[tool]; got != sent || sent == "" {
			t.Errorf("%s: the server said\n%s\nthe editor got\n%s", tool, sent, got)
		}
		return result.Content[0].Text
	}
	if got := said("tutti_status", object{}); !strings.HasPrefix(first(instanceIn, got), "codex:ana:") {
		t.Errorf("status: %s", got)
	}
	if got := said("tutti_send", object{"to": ben, "text": "from the editor"}); !strings.Contains(got, `"outcome":"deposited"`) {
		t.Errorf("send: %s", got)
	}

	s.call("turn/start", object{"threadId": thread, "input": []any{object{"type": "text", "text": "call the tool"}}})
	s.next("the end of the turn", func(l appLine) bool { return l.Method == "turn/completed" })
	w := readWire(t, wire)
	if got, ok := m.result(codex.tool("tutti_send")); !ok || !strings.Contains(got, w.results["tutti_send"]) || !strings.Contains(got, `"outcome":"deposited"`) {
		t.Errorf("the server said\n%s\nthe model got\n%s", w.results["tutti_send"], got)
	}
	mail := string(tutti(t, home, "receive", "--root", root, "--as", ben, "--json"))
	for _, text := range []string{"from the editor", "from the model"} {
		if strings.Count(mail, text) != 1 {
			t.Errorf("%q is not in the mail: %s", text, mail)
		}
	}
	if len(w.talks) == 0 || slices.ContainsFunc(w.talks, func(id string) bool { return id != thread }) {
		t.Errorf("the calls were made in %q, want %s", w.talks, thread)
	}
}
