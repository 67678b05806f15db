//go:build e2e

package e2etest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What docs/agents.md says of the settings of these programs is tried here, where it goes beyond the ones with which the
// other tests run.

// talk has a program follow a script in a fresh home, or in the given one, and is the model it talked to.
func talk(t *testing.T, a agent, home string, steps ...step) *model {
	t.Helper()
	agentPrograms(t)
	m := newModel(t, a.steps(t, steps...))
	d := newDesk(t, a, home, m.http.URL)
	out := d.run(t, a.ask("call the tools")...)
	if len(m.seen()) == 0 {
		t.Fatalf("%s asked no model: %s", a.name, out)
	}
	return m
}

// sending is a script that writes to another agent, made for it.
func sending(t *testing.T, home string) step {
	agentPrograms(t)
	ben := connect(t, home, filepath.Join(home, "h2a-workspace/.h2a"), "agy", "ben")
	return step{tool: "tutti_send", args: with(object{"to": ben, "text": "hello"})}
}

func TestClaudeAsksForPermission(t *testing.T) {
	for _, version := range []string{"197", "329"} {
		t.Run(version, func(t *testing.T) {
			a := claude(version)
			a.ask = func(prompt string) []string { return []string{"-p", prompt} }
			home := t.TempDir()
			m := talk(t, a, home, sending(t, home))
			if got, _ := m.result(a.tool("tutti_send")); !strings.Contains(got, "haven't granted it yet") {
				t.Errorf("without a rule the call came to: %s", got)
			}

			ordinary := a.setUp
			a.setUp = func(t *testing.T, d desk) {
				ordinary(t, d)
				d.write(t, ".claude/settings.json", `{"permissions":{"allow":["mcp__tutti"]}}`)
			}
			home = t.TempDir()
			m = talk(t, a, home, sending(t, home))
			if got, _ := m.result(a.tool("tutti_send")); !strings.Contains(got, `"outcome":"deposited"`) {
				t.Errorf("with a rule in the settings the call came to: %s", got)
			}
		})
	}
}

func TestClaudeLoadsAlways(t *testing.T) {
	a := claude("329")
	a.setUp = func(t *testing.T, d desk) {
		d.run(t, "mcp", "add-json", "-s", "user", "tutti", compact(object{"type": "stdio", "command": d.serve[0], "args": d.serve[1:], "alwaysLoad": true}))
	}
	m := talk(t, a, t.TempDir(), step{tool: "tutti_status", args: with(object{})})
	if got := m.seen()[0].offered; !slices.Contains(got, a.tool("tutti_send")) || slices.Contains(got, "ToolSearch") && len(m.seen()) > 2 {
		t.Errorf("offered in the first request: %q", got)
	}
}

// TestCodexApproves: its strictest usual settings let our tools run, because of what their annotations say.
func TestCodexApproves(t *testing.T) {
	a := codex
	a.setUp = func(t *testing.T, d desk) {
		codex.setUp(t, d)
		d.prepend(t, ".codex/config.toml", "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n")
	}
	home := t.TempDir()
	m := talk(t, a, home, sending(t, home))
	if got, _ := m.result(a.tool("tutti_send")); !strings.Contains(got, `"outcome":"deposited"`) {
		t.Errorf("the call came to: %s", got)
	}
}

// TestCodexHidesVariables: of the environment the server gets next to nothing, unless the settings name a variable.
func TestCodexHidesVariables(t *testing.T) {
	for _, named := range []bool{false, true} {
		home := t.TempDir()
		root := filepath.Join(home, "other")
		a := codex
		a.env = func(string) []string { return []string{"OFFLINE_KEY=dummy", "H2A_ROOT=" + root} }
		a.setUp = func(t *testing.T, d desk) {
			codex.setUp(t, d)
			if named {
				d.append(t, ".codex/config.toml", "env_vars = [\"H2A_ROOT\"]\n")
			}
		}
		m := talk(t, a, home, step{tool: "tutti_status", args: with(object{})})
		if got, _ := m.result(a.tool("tutti_status")); strings.Contains(got, root) != named {
			t.Errorf("H2A_ROOT named in the settings: %v; the server's status: %s", named, got)
		}
	}
}

// TestGeminiLeavesOutWhatItDoesNotTrust: then the model of a run without a person is offered nothing of the server.
func TestGeminiLeavesOutWhatItDoesNotTrust(t *testing.T) {
	a := gemini
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".gemini/settings.json", compact(object{
			"security":   object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
			"mcpServers": object{"tutti": object{"command": d.serve[0], "args": d.serve[1:]}},
		}))
	}
	m := talk(t, a, t.TempDir())
	for _, name := range m.seen()[0].offered {
		if strings.HasPrefix(name, "mcp_tutti_") {
			t.Errorf("%s is offered", name)
		}
	}
}

// TestAgentsWait: each program lets a call that waits for mail take as long as the server lets it.
func TestAgentsWait(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			m := talk(t, a, t.TempDir(), step{tool: "tutti_receive", args: with(object{"wait": 50})})
			got, _ := m.result(a.tool("tutti_receive"))
			if !strings.Contains(got, `"messages":[]`) || time.Since(begun) < 50*time.Second {
				t.Errorf("after %s the model got: %s", time.Since(begun), got)
			}
		})
	}
}
