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
	for _, version := range []string{"197", "330"} {
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
				d.write(t, ".claude/settings.json", shown(t, `{"permissions":`))
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
	a := claude("330")
	a.setUp = func(t *testing.T, d desk) {
		d.typed(t, "claude mcp add-json ")
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
		d.append(t, ".codex/config.toml", shown(t, "env_vars =")) // of a variable that is not set
	}
	home := t.TempDir()
	m := talk(t, a, home, sending(t, home))
	if got, _ := m.result(a.tool("tutti_send")); !strings.Contains(got, `"outcome":"deposited"`) {
		t.Errorf("the call came to: %s", got)
	}
}

// codexScripts has Codex talk to a model that it knows, and run the scripts which such a model writes in place of calls. What
// came of each is returned.
func codexScripts(t *testing.T, scripts ...string) *model {
	t.Helper()
	agentPrograms(t)
	const run = "functions.exec"
	m := newModel(t, func(now turn) move {
		if n := len(now.done); n < len(scripts) {
			return move{tool: run, args: scripts[n]}
		}
		return move{say: "done"}
	})
	d := newDesk(t, codex, t.TempDir(), m.http.URL)
	d.write(t, ".codex/config.toml", strings.Replace(d.read(t, ".codex/config.toml"), "scripted", "gpt-6.1-sol", 1))
	d.run(t, codex.ask("call the tools")...)
	if seen := m.seen(); len(seen) != len(scripts)+1 || !slices.Contains(seen[0].offered, run) {
		t.Fatalf("%d turns for %d scripts; offered: %q", len(seen), len(scripts), seen[0].offered)
	}
	return m
}

// TestCodexDefers: a model that Codex knows sees the server's first sentence, and finds the tools by a search.
func TestCodexDefers(t *testing.T) {
	m := codexScripts(t,
		`text(ALL_TOOLS.filter(t => /message|agent/i.test(t.description)).map(t => t.name).join(" "))`,
		`text(await tools.mcp__tutti__tutti_status({}))`,
	)
	turns := m.seen()
	if first := turns[0]; strings.Contains(strings.Join(first.offered, " "), "tutti") || !strings.Contains(string(first.raw), "on one message bus") {
		t.Errorf("offered in the first request: %q", first.offered)
	}
	for n, want := range []string{"mcp__tutti__tutti_send", `"structuredContent":{"ok":true,"instance":"codex:`} {
		if got := turns[2].done[n].text; !strings.Contains(got, want) {
			t.Errorf("%s is not in what came of script %d: %s", want, n+1, got)
		}
	}
}

// TestAgentsPassVariables: Codex hands next to nothing of its environment on to the server, unless its settings name a
// variable; the others hand on all of it.
func TestAgentsPassVariables(t *testing.T) {
	named := codex
	named.name += " with env_vars"
	named.setUp = func(t *testing.T, d desk) {
		codex.setUp(t, d)
		d.append(t, ".codex/config.toml", shown(t, "env_vars ="))
	}
	for _, a := range append(agents[:len(agents):len(agents)], named) {
		t.Run(a.name, func(t *testing.T) {
			home := t.TempDir()
			root := filepath.Join(home, "other")
			ordinary := a.env
			a.env = func(url string) []string { return append(ordinary(url), "H2A_ROOT="+root) }
			m := talk(t, a, home, step{tool: "tutti_status", args: with(object{})})
			got, _ := m.result(a.tool("tutti_status"))
			if strings.Contains(got, root) != (a.name != codex.name) {
				t.Errorf("H2A_ROOT is %s; the server's status: %s", root, got)
			}
		})
	}
}

// TestGeminiUntrustedServer: then the model of a run without a person is offered nothing of the server.
func TestGeminiUntrustedServer(t *testing.T) {
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

// TestGeminiTrustsFolders: it starts no server in a folder that the user has not said to trust.
func TestGeminiTrustsFolders(t *testing.T) {
	a := gemini
	a.setUp = func(t *testing.T, d desk) { d.typed(t, "gemini mcp add ") }
	d := newDesk(t, a, t.TempDir(), "http://127.0.0.1:1")
	if out := d.run(t, a.list...); !strings.Contains(out, "tutti") || !strings.Contains(out, "Disabled") {
		t.Errorf("in a fresh home: %s", out)
	}
	d.write(t, ".gemini/trustedFolders.json", compact(object{d.work: "TRUST_FOLDER"}))
	if out := d.run(t, a.list...); !strings.Contains(out, a.connected) {
		t.Errorf("in a trusted folder: %s", out)
	}
}

// TestAgentsWait: each program lets a call that waits for mail take as long as the server lets it; only a script that waits
// is left running after half a minute.
func TestAgentsWait(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Run("codex, in a script", func(t *testing.T) {
		t.Parallel()
		m := codexScripts(t, `text(await tools.mcp__tutti__tutti_receive({wait: 40}))`)
		if got := m.seen()[1].done[0].text; !strings.Contains(got, "Script running") {
			t.Errorf("the model got: %s", got)
		}
	})
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
