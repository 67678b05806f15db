//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
)

// What is peculiar to each program, as far as our server meets it.

// prompt is from when on a server is too slow: Codex then begins the first turn without its tools.
const prompt = time.Second

// TestHandshake: the first and last messages of each program to the server, where it starts it, and what it asks for.
func TestHandshake(t *testing.T) {
	for _, c := range []struct {
		agent           agent
		first           string
		client, version string
		ends            string // how the server is bidden to end: the first that comes of several ways
	}{
		{claude("197"), "initialize", "claude-code", "2025-11-25", "interrupt"},
		{claude("330"), "server/discover", "claude-code", "2025-11-25", "interrupt"},
		{codex, "initialize", "codex-mcp-client", "2025-06-18", "terminated, end of input"}, // both at once, and then it is killed
		{gemini, "initialize", "gemini-cli-mcp-client", "2025-06-18", "terminated"},
		{opencode, "initialize", "opencode", "2025-11-25", "end of input"}, // it may also find the server behind the wire, and end it
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			d, path := wired(t, c.agent, step{tool: "tutti_status", args: with(object{})}, step{tool: "tutti_peers", args: with(object{})})
			d.run(t, c.agent.ask("call the tools")...)

			w, all := readWire(t, path), untilEnd(t, path)
			if w.methods[0] != c.first {
				t.Errorf("first it says %s, want %s", w.methods[0], c.first)
			}
			if want := c.client + " asks for " + c.version + " and gets " + c.version; w.shake != want {
				t.Errorf("got %s, want %s", w.shake, want)
			}
			for _, method := range w.methods {
				if strings.HasPrefix(method, "prompts/") || strings.HasPrefix(method, "resources/") {
					t.Errorf("it asks for what the server does not declare: %s", method)
				}
			}
			if cancelled := slices.Contains(w.methods, "notifications/cancelled"); cancelled != (c.agent.host == "opencode") {
				t.Errorf("it takes back calls that were answered: %v", cancelled)
			}
			for _, tool := range []string{"tutti_status", "tutti_peers"} {
				if w.results[tool] == "" {
					t.Errorf("%s was not answered", tool)
				}
			}

			var began, shaken, bidden, ended time.Time
			for _, e := range all {
				switch {
				case e.mark == '=':
					began = e.at
					if got := started(t, e); got.Folder != d.work {
						t.Errorf("the server was started in %s, want %s", got.Folder, d.work)
					}
				case e.mark == '<' && strings.Contains(e.text, `"server-discover-probe-1"`) && !strings.Contains(e.text, "-32601"):
					t.Errorf("the probe is answered with %s", e.text)
				case e.mark == '<' && strings.Contains(e.text, `"protocolVersion"`):
					shaken = e.at
					if able := strings.Contains(e.text, `"claude/channel"`); able != (c.agent.host == "claude") {
						t.Errorf("whether the server says it has a channel: %v: %s", able, e.text)
					}
				case e.mark == '!' && bidden.IsZero():
					bidden = e.at
					if !strings.Contains(c.ends, e.text) {
						t.Errorf("the server is bidden to end by %q, want %q", e.text, c.ends)
					}
				case e.mark == '.':
					ended = e.at
					// Codex sends the signal and closes the input at once: the signal may come when the server is on its way out.
					if e.text != "exit status 0" && (c.agent.host != "codex" || e.text != "signal: terminated") {
						t.Errorf("the server ends with %s", e.text)
					}
				}
			}
			t.Logf("ready after %v; it says itself how it ended: %v", shaken.Sub(began), !ended.IsZero())
			if shaken.IsZero() || shaken.Sub(began) > prompt {
				t.Errorf("the server was ready after %v, want at most %v", shaken.Sub(began), prompt)
			}
			switch { // a program that is done may kill what it has started
			case !ended.IsZero() && !bidden.IsZero() && ended.Sub(bidden) > prompt:
				t.Errorf("the server ended %v after it was bidden to, want at most %v", ended.Sub(bidden), prompt)
			case ended.IsZero() && bidden.IsZero():
				t.Error("nobody has ended the server")
			}
			nobodyLeft(t, d.home, "--root", filepath.Join(d.home, "bus"))
		})
	}
}

// nobodyLeft waits until no agent is live on a bus. That is at once, but for a program that kills its server before it could say
// goodbye, as Codex may: then the session has to expire.
func nobodyLeft(t *testing.T, home string, flags ...string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		live := string(tutti(t, home, append([]string{"discover", "--json"}, flags...)...))
		took := time.Since(began)
		if strings.TrimSpace(live) == "[]" {
			if took > 5*time.Second {
				t.Logf("its server was killed: the agent counted as live for %v", took)
			}
			return
		}
		if took > presence.Expiry+10*time.Second || took > 5*time.Second && !strings.Contains(live, `"codex:`) {
			t.Errorf("still live after %v: %s", took, live)
			return
		}
	}
}

// wired is a desk with the wire recorded in the file that is returned, and with a script.
func wired(t *testing.T, a agent, steps ...step) (d desk, path string) {
	t.Helper()
	agentPrograms(t)
	home := t.TempDir()
	path = filepath.Join(home, "wire")
	m := newModel(t, a.steps(t, steps...))
	d = newDesk(t, a, home, m.http.URL, os.Args[0], "wire", path, here.full, "mcp-serve", "--root", filepath.Join(home, "bus"), "--auto-open", "--host", a.host, "--name", "ana")
	return d, path
}

// untilEnd is what a wire has written, once the server has ended; a program may not wait for that.
func untilEnd(t *testing.T, path string) []entry {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all := entries(t, path)
		if len(all) > 0 && all[len(all)-1].mark == '.' || time.Now().After(end) {
			return all
		}
	}
}

type start struct {
	Folder string
	Env    []string
}

func started(t *testing.T, e entry) (s start) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s start) variable(name string) string {
	for _, v := range s.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// TestClaudeNamesItsConversation: a variable names the conversation to the server, also after a resume. Secret variables are written
// nowhere.
func TestClaudeNamesItsConversation(t *testing.T) {
	const id = "0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c3d"
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			a := claude(version)
			d, path := wired(t, a, step{tool: "tutti_status", args: with(object{})})
			d.run(t, append([]string{"--session-id", id}, a.ask("call the tools")...)...)
			d.run(t, append([]string{"--resume", id}, a.ask("go on")...)...)
			var secrets []string
			starts := 0
			for _, e := range untilEnd(t, path) {
				if e.mark != '=' {
					continue
				}
				starts++
				s := started(t, e)
				if got := s.variable("CLAUDE_CODE_SESSION_ID"); got != id {
					t.Errorf("start %d: the conversation is %q", starts, got)
				}
				if secret := s.variable("CLAUDE_CODE_MESSAGING_TOKEN"); secret != "" {
					secrets = append(secrets, secret)
				}
			}
			if starts != 2 {
				t.Errorf("the server was started %d times, want twice", starts)
			}
			if (len(secrets) > 0) != (version == "330") {
				t.Errorf("the servers were told %d secrets", len(secrets))
			}
			for _, folder := range []string{"bus", ".local", ".config"} {
				err := filepath.WalkDir(filepath.Join(d.home, folder), func(path string, e fs.DirEntry, err error) error {
					if err != nil || !e.Type().IsRegular() {
						return err
					}
					raw, err := os.ReadFile(path)
					for _, secret := range secrets {
						if strings.Contains(string(raw), secret) {
							t.Errorf("%s holds a secret of its program", path)
						}
					}
					return err
				})
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
}

// TestAgentsGetLongResults: the longest result that the server gives reaches each model whole. Codex would cut the middle out
// of a longer one.
func TestAgentsGetLongResults(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			d, path := wired(t, a, step{tool: "tutti_status", args: with(object{})}, step{tool: "tutti_receive", until: messageIn.MatchString, args: with(object{"wait": 45})})
			root := filepath.Join(d.home, "bus")
			ben := connect(t, d.home, root, "agy", "ben")
			inner := a.steps(t, step{tool: "tutti_status", args: with(object{})}, step{tool: "tutti_receive", args: with(object{})})
			sent := false
			m := newModel(t, func(now turn) move {
				if status, ok := now.result(a.tool("tutti_status")); ok && !sent {
					sent = true
					for n := range 6 {
						tutti(t, d.home, "send", "--root", root, "--as", ben, first(instanceIn, status), strings.Repeat("größer, als gedacht: "+strconv.Itoa(n)+" ", 75))
					}
				}
				return inner(now)
			})
			d.url = m.http.URL
			if a.host == "codex" || a.host == "opencode" { // they have the address of the model in their settings
				a.setUp(t, d)
			}
			d.run(t, a.ask("call the tools")...)
			said := readWire(t, path).results["tutti_receive"]
			got, _ := m.result(a.tool("tutti_receive"))
			if !strings.Contains(got, said) || len(said) < 9000 || len(said) > 12000 {
				t.Errorf("of %d bytes the model got\n%s", len(said), got)
			}
		})
	}
}

// TestCodexNeedNotWait: without being made to wait for the server, Codex has its tools in the first request. It waits for a second;
// a busy machine gets three tries.
func TestCodexNeedNotWait(t *testing.T) {
	var offered []string
	for range 3 {
		agentPrograms(t)
		m := newModel(t, func(turn) move { return move{say: "done"} })
		home := t.TempDir()
		d := desk{agent: codex, home: home, work: filepath.Join(home, "project"), url: m.http.URL}
		d.write(t, "project/readme", "")
		d.write(t, ".codex/config.toml", offlineCodex(d, ""))
		tutti(t, home, "host", "setup", "--host", "codex")
		d.run(t, codex.ask("hello")...)
		if offered = m.seen()[0].offered; slices.Contains(offered, codex.tool("tutti_send")) {
			return
		}
	}
	t.Errorf("the first request offers only %q", offered)
}

// TestTerminalsClose: a program whose terminal is closed ends, its server does, and its agent is no longer there. Whatever still
// runs is a fault.
func TestTerminalsClose(t *testing.T) {
	shy := gemini
	shy.setUp = func(t *testing.T, d desk) {
		d.write(t, ".gemini/settings.json", compact(offlineGemini))
	}
	for _, a := range []agent{seated("197"), seated("330"), screenCodex(t), shy, opencode} {
		t.Run(a.name, func(t *testing.T) {
			var args []string
			if a.host == "codex" {
				args = []string{"--no-daemon", "--dangerously-bypass-hook-trust"}
			}
			s := sit(t, a, nil, args...)
			if a.host == "codex" {
				s.begins()
			}
			s.comes()
			s.keys("kill-server")
			nothingLeft(t, s.d.home)
			nobodyLeft(t, s.d.home)
		})
	}
}
