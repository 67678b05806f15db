package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// writeLocal writes settings of Claude in which the folder of the request has a server of its own.
func (d *desk) writeLocal(dir, entry string) {
	d.t.Helper()
	name, err := json.Marshal(dir)
	if err != nil {
		d.t.Fatal(err)
	}
	d.write(".claude.json", `{"projects": {"/else": {"mcpServers": {"tutti": `+entry+`}}, `+string(name)+`: {"allowedTools": [], "mcpServers": {"tutti": `+entry+`, "b": {"command": "b"}}, "x": 1}}}`, 0o600)
}

func (d *desk) local(dir string) string {
	d.t.Helper()
	var v struct {
		Projects map[string]struct {
			McpServers map[string]json.RawMessage //nolint:tagliatelle // as Claude writes it
		}
	}
	if err := json.Unmarshal([]byte(d.read(".claude.json")), &v); err != nil {
		d.t.Fatal(err)
	}
	return string(v.Projects[dir].McpServers["tutti"])
}

// Claude keeps servers for one folder in the settings of the user, and there they hide ours.
func TestLocalServer(t *testing.T) {
	t.Parallel()
	const (
		plain    = `{"type": "stdio", "command": "tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude"], "env": {}}`
		original = `{"command": "h2a", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--auto-upgrade", "--wake", "local-tmux"]}`
		own      = `{"command": "/old/tutti", "args": ["mcp-serve", "--root", "/srv/own"], "env": {"A": "b"}, "alwaysLoad": true}`
		foreign  = `{"command": "/usr/bin/other", "args": ["x"]}`
	)
	for _, c := range []struct {
		name, entry   string
		root          string
		force         bool
		stays, remark string
		changes       bool
	}{
		{name: "plain", entry: plain, stays: "", changes: true},
		{name: "of the older program", entry: original, stays: "", changes: true},
		{
			name: "with settings of its own", entry: own, remark: "--root /srv/own", changes: true,
			stays: `{"command": "/opt/my tools/tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--tools", "lean", "--root", "/srv/own"], "env": {"A": "b"}, "alwaysLoad": true}`,
		},
		{
			name: "and another bus", entry: own, root: "/srv/bus", remark: "--root /srv/bus", changes: true,
			stays: `{"command": "/opt/my tools/tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--tools", "lean", "--root", "/srv/bus"], "env": {"A": "b"}, "alwaysLoad": true}`,
		},
		{name: "foreign", entry: foreign, stays: foreign, remark: "/usr/bin/other x"},
		{name: "foreign, by force", entry: foreign, force: true, stays: "", changes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.q.Hooks, d.q.Root, d.q.Force = false, c.root, c.force
			dir := d.q.Place.Dir
			claude, _ := driver.Get("claude")
			d.writeLocal(dir, c.entry)
			s := d.q.Look(t.Context(), claude)
			if len(s.Servers) != 1 || s.Servers[0].Scope != driver.Local || s.Servers[0].Current {
				t.Errorf("before: %+v", s.Servers)
			}
			p := d.ok("claude")
			if got := d.local(dir); got != c.stays {
				t.Errorf("got  %s\nwant %s", got, c.stays)
			}
			if got := strings.Join(p.Remarks, "\n"); (got == "") != (c.remark == "") || !strings.Contains(got, c.remark) {
				t.Errorf("remarks: %q", got)
			}
			if got := d.local("/else"); got != c.entry {
				t.Errorf("another folder: %s", got)
			}
			for _, want := range []string{`"b": {"command": "b"}`, `"allowedTools": []`, `"x": 1`} {
				if !strings.Contains(d.read(".claude.json"), want) {
					t.Errorf("%s is gone", want)
				}
			}
			if again := d.ok("claude"); again.Changed() {
				t.Error("a second run changes it")
			}
			s = d.q.Look(t.Context(), claude)
			if n := len(s.Servers); n != 1+len(p.Remarks) || !s.Servers[0].Current || n > 1 && s.Servers[1].Current != (c.name != "foreign") {
				t.Errorf("afterwards: %+v", s.Servers)
			}
			d.q.Remove = true
			d.ok("claude")
			if got := d.local(dir); got != "" && c.name != "foreign" {
				t.Errorf("after removal: %s", got)
			}
			if got := d.local("/else"); got != "" && (c.entry == plain || c.entry == own) || got == "" && (c.entry == original || c.entry == foreign) {
				t.Errorf("in another folder, after removal: %s", got)
			}
		})
	}
}

// The name of the folder is the one without links, whatever the shell calls it. Settings of a project do not touch those of the
// user, but tell.
func TestLocalServerOfProject(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Hooks = false
	real, err := filepath.EvalSymlinks(d.home)
	if err != nil {
		t.Fatal(err)
	}
	real = filepath.Join(real, "project")
	if err := os.Mkdir(d.q.Place.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(d.home, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	d.q.Place.Dir = link
	d.writeLocal(real, `{"command": "tutti", "args": ["mcp-serve"]}`)
	before := d.read(".claude.json")
	d.q.Scope = driver.Project
	if p := d.ok("claude"); len(p.Remarks) != 1 || d.read(".claude.json") != before {
		t.Errorf("got %q, %s", p.Remarks, d.read(".claude.json"))
	}
	d.q.Scope = driver.User
	d.ok("claude")
	if got := d.local(real); got != "" {
		t.Errorf("got %s", got)
	}
}

// One under another name would have the agent there twice.
func TestLocalRetire(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Hooks = false
	d.write(".claude.json", `{"projects": {"`+d.q.Place.Dir+`": {"mcpServers": {"mine": {"command": "tutti", "args": ["mcp-serve"]}}}}}`, 0o600)
	if p := d.ok("claude"); strings.Contains(d.read(".claude.json"), `"mine":`) || len(p.Remarks) != 0 {
		t.Errorf("got %q\n%s", p.Remarks, d.read(".claude.json"))
	}
	d.q.Remove = true
	d.ok("claude")
	d.write(".claude.json", `{"mcpServers": {"mine": {"command": "tutti", "args": ["mcp-serve"]}}}`, 0o600)
	if p := d.ok("claude"); p.Changed() || len(p.Remarks) != 1 || !strings.Contains(p.Remarks[0], `"mine"`) {
		t.Errorf("removal: %q\n%s", p.Remarks, d.read(".claude.json"))
	}
}
