package setup

import (
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
)

// TestRename: an entry under the former name gets the present one with what its user set in it, and what allowed its tools allows them
// still.
func TestRename(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	dir := d.q.Place.Dir
	d.write(".claude.json", `{"projects": {"`+dir+`": {"allowedTools": ["mcp__h2a__tutti_send"]},
 "/else": {"mcpServers": {"h2a": {"command": "/old/tutti", "args": ["mcp-serve", "--name", "ana"]}}}},
 "mcpServers": {"h2a": {"command": "/old/tutti", "args": ["mcp-serve", "--root", "/srv/bus"], "alwaysLoad": true}}}`, 0o600)
	d.write(".claude/settings.json", `{"permissions": {"allow": ["Bash(ls)", "mcp__h2a", "Skill(h2a)"], "deny": ["mcp__h2a__tutti_ack"], "ask": ["mcp__h2ab"]}}`, 0o600)
	d.write("project/.claude/settings.local.json", `{"permissions": {"allow": ["mcp__h2a__tutti_reply"]}, "enabledMcpjsonServers": ["h2a"]}`, 0o600)
	before := d.files()
	p := d.ok("claude")
	if len(p.Remarks) != 1 || !strings.Contains(p.Remarks[0], "--root /srv/bus") {
		t.Errorf("got %q", p.Remarks)
	}
	for file, wants := range map[string][]string{
		".claude.json": {
			`"tutti": {"command": "/opt/my tools/tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--tools", "lean", "--root", "/srv/bus"], "alwaysLoad": true}`,
			`"/else": {"mcpServers": {"tutti": {"command": "/old/tutti", "args": ["mcp-serve", "--name", "ana"]}}}`,
			`["mcp__h2a__tutti_send", "mcp__tutti__tutti_send"]`,
		},
		".claude/settings.json":               {`["Bash(ls)", "mcp__h2a", "Skill(h2a)", "mcp__tutti", "Skill(tutti)"]`, `["mcp__h2a__tutti_ack", "mcp__tutti__tutti_ack"]`, `"ask": ["mcp__h2ab"]`},
		"project/.claude/settings.local.json": {`["mcp__h2a__tutti_reply", "mcp__tutti__tutti_reply"]`, `["h2a", "tutti"]`},
	} {
		for _, want := range wants {
			if got := d.read(file); !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", file, want, got)
			}
		}
	}
	after := d.files()
	if p := d.ok("claude"); p.Changed() {
		t.Errorf("again: %q", p.Remarks)
	}
	d.same(after, "done again")
	d.q.Remove = true
	d.ok("claude")
	for _, file := range []string{".claude/settings.json", "project/.claude/settings.local.json"} {
		if got := d.read(file); got != before[file] {
			t.Errorf("after removal, %s:\n%s\nbefore:\n%s", file, got, before[file])
		}
	}
	if got := d.read(".claude.json"); strings.Contains(got, "mcp-serve") || !strings.Contains(got, `["mcp__h2a__tutti_send"]`) {
		t.Errorf("after removal:\n%s", got)
	}
}

// TestRenameElsewhere: in the other formats comments and what is unknown stay, and rules that could decide otherwise are the user's.
func TestRenameElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, want, remark string
	}{
		"codex": {
			".codex/config.toml", "[mcp_servers.h2a] # mine\ncommand = '/old/tutti'\nargs = ['mcp-serve']\ndefault_tools_approval_mode = 'approve'\n[mcp_servers.h2a.tools.tutti_send]\napproval_mode = 'approve' # x\n",
			"default_tools_approval_mode = 'approve'\n[mcp_servers.tutti.tools.tutti_send]\napproval_mode = 'approve' # x\n", "",
		},
		"gemini": {
			".gemini/settings.json", `{"mcp": {"allowed": ["h2a"]}, "mcpServers": {"h2a": {"command": "/old/tutti", "args": ["mcp-serve"], "trust": false}}}`,
			`"allowed": ["h2a", "tutti"]`, "",
		},
		"opencode": {
			".config/opencode/opencode.json", `{"permission": {"*": "ask", "h2a_*": "allow"}, "mcp": {"h2a": {"type": "local", "command": ["/old/tutti", "mcp-serve"]}}}`,
			`{"*": "ask", "h2a_*": "allow", "tutti_*": "allow"}`, "",
		},
		"opencode, a pattern behind": {
			".config/opencode/opencode.json", `{"permission": {"h2a_*": "allow", "*": "ask"}, "mcp": {"h2a": {"type": "local", "command": ["/old/tutti", "mcp-serve"]}}}`,
			`{"h2a_*": "allow", "*": "ask"}`, "h2a_*",
		},
		"hermes": {
			".hermes/config.yaml", "mcp_servers:\n  h2a: # mine\n    command: /old/tutti\n    args: [mcp-serve]\n    new: 1\n", "  tutti: # mine\n", "",
		},
	} {
		d := newDesk(t)
		d.write(c.file, c.text, 0o600)
		cli, _, _ := strings.Cut(name, ",")
		p := d.ok(cli)
		got := d.read(c.file)
		if !strings.Contains(got, c.want) || !strings.Contains(strings.Join(p.Remarks, "\n"), c.remark) || c.remark == "" && len(p.Remarks) > 0 {
			t.Errorf("%s: %q\n%s", name, p.Remarks, got)
		}
		d.q.Remove = true
		if p := d.ok(cli); len(p.Remarks) > 0 {
			t.Errorf("%s: at removal: %q", name, p.Remarks)
		}
		if got := d.files()[c.file]; strings.Contains(got, "mcp-serve") || strings.Contains(got, `"tutti`) {
			t.Errorf("%s: after removal:\n%s", name, got)
		}
	}
}

// TestFormerNameIsSeen: an entry under the former name works until setup renames it. An entry of another program does not count.
func TestFormerNameIsSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	claude, _ := driver.Get("claude")
	d.write(".claude.json", `{"mcpServers": {"h2a": {"command": "/opt/my tools/tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--tools", "lean"]}}}`, 0o600)
	if all := d.q.Serving(claude); len(all) != 1 || all[0].Current || all[0].Name != driver.FormerServerName {
		t.Errorf("got %+v", all)
	}
	d.write(".claude.json", `{"mcpServers": {"h2a": {"command": "/usr/bin/other", "args": ["x"]}}}`, 0o600)
	if s := d.q.Look(t.Context(), claude); len(s.Servers) != 0 {
		t.Errorf("got %+v", s.Servers)
	}
	d.ok("claude")
	if got := d.read(".claude.json"); !strings.Contains(got, "/usr/bin/other") || !strings.Contains(got, `"tutti"`) {
		t.Errorf("got %s", got)
	}
	d.write(".claude.json", `{"mcpServers": {"h2a": {"command": "`+filepath.Join(d.home, "h2a")+`", "args": ["mcp-serve", "--auto-open"]}}}`, 0o600)
	d.ok("claude")
	if got := d.read(".claude.json"); strings.Contains(got, `"h2a":`) || !strings.Contains(got, `"tutti"`) {
		t.Errorf("of the older program: %s", got)
	}
}

// TestTrust: a new server is trusted unless its user says otherwise, or has a rule about its tools. What is there stays.
func TestTrust(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings, server string
		noTrust, want    bool
	}{
		"new":          {"", "", false, true},
		"with others":  {`{"permissions": {"allow": ["Bash(ls)"]}}`, "", false, true},
		"not wanted":   {"", "", true, false},
		"denied":       {`{"permissions": {"deny": ["mcp__tutti__tutti_send"]}}`, "", false, false},
		"asked before": {`{"permissions": {"ask": ["mcp__tutti"]}}`, "", false, false},
		"not new":      {"", `{"mcpServers": {"tutti": {"command": "/old/tutti", "args": ["mcp-serve"]}}}`, false, false},
	} {
		d := newDesk(t)
		for file, text := range map[string]string{".claude/settings.json": c.settings, ".claude.json": c.server} {
			if text != "" {
				d.write(file, text, 0o600)
			}
		}
		d.q.NoTrust = c.noTrust
		d.ok("claude")
		list, _, err := settings.Get(driver.JSON, []byte(d.read(".claude/settings.json")), []string{"permissions", "allow"})
		if err != nil || strings.Contains(string(list), `"mcp__tutti"`) != c.want {
			t.Errorf("%s: %v %s", name, err, list)
		}
		d.q.Remove = true
		d.ok("claude")
		if got := d.files()[".claude/settings.json"]; got != c.settings && !(c.want && c.settings == "" && got == "") && name != "denied" {
			t.Errorf("%s, after removal: %s", name, got)
		}
	}
}
