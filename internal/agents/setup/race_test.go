package setup

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
)

// Several setups at once: each comes to its end, the settings are whole and have ours once, and nothing of anybody is lost.
func TestConcurrentSetup(t *testing.T) {
	t.Parallel()
	const at = 6
	for _, before := range []string{"", "{\n  // mine\n  \"a\": 1\n}\n"} {
		d := newDesk(t)
		if before != "" {
			d.write(".claude/settings.json", before, 0o600)
			d.write(".claude.json", before, 0o600)
		}
		claude, _ := driver.Get("claude")
		var all sync.WaitGroup
		plans := make([]*Plan, at)
		for i := range at {
			all.Go(func() {
				q := d.q
				plans[i] = q.Do(func() *Plan { return q.Plan(claude) })
			})
		}
		all.Wait()
		changed := 0
		for i, p := range plans {
			if p.Err != nil {
				t.Errorf("%d: %v", i, p.Err)
			}
			if p.Changed() {
				changed++
			}
		}
		if p := d.ok("claude"); p.Changed() || changed == 0 { // of two files each may have written one
			t.Errorf("%d have changed something; changed afterwards: %v", changed, p.Changed())
		}
		for name, text := range d.files() {
			switch base := filepath.Base(name); {
			case strings.Contains(base, ".tutti-"):
				if text != before {
					t.Errorf("%s: %s", name, text)
				}
			case text == "d---------" || base == ".claude.json" || base == "settings.json":
			default:
				t.Errorf("%s is left", name)
			}
		}
		if got := d.read(".claude.json"); strings.Count(got, "mcp-serve") != 1 || !strings.HasPrefix(got, strings.TrimSuffix(before, "\n}\n")) {
			t.Errorf("got %s", got)
		}
	}
}

// TestWriteBeforeRename: another program writes between our last read and the rename: its text is kept.
func TestWriteBeforeRename(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Hooks = false
	path := d.write(".claude.json", `{"a": 1}`, 0o600)
	claude, _ := driver.Get("claude")
	for name, meddle := range map[string]func(){
		"written":  func() { d.write(".claude.json", `{"a": 2}`, 0o600) },
		"replaced": func() { d.write("new", `{"a": 3}`, 0o600); _ = os.Rename(filepath.Join(d.home, "new"), path) },
		"a link":   func() { _ = os.Remove(path); _ = os.Symlink("nowhere", path) },
		"gone":     func() { _ = os.Remove(path) },
	} {
		_ = os.Remove(path)
		d.write(".claude.json", `{"a": 1}`, 0o600)
		c := d.q.Plan(claude).Changes[0]
		if err := c.stage(); err != nil {
			t.Fatal(err)
		}
		meddle()
		want := d.files()
		if err := c.replace(filepath.Base(path)); !errors.Is(err, ErrChanged) || c.written {
			t.Errorf("%s: got %v, written: %v", name, err, c.written)
		}
		if got := d.files(); !maps.Equal(got, want) {
			t.Errorf("%s: got  %v\nwant %v", name, got, want)
		}
		c.unstage()
	}
}

// TestConcurrentEditIsReplanned: a write during planning is kept, and the plan is made again.
func TestConcurrentEditIsReplanned(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Hooks = false
	d.write(".claude.json", `{"a": 1}`, 0o600)
	claude, _ := driver.Get("claude")
	calls := 0
	p := d.q.Do(func() *Plan {
		p := d.q.Plan(claude)
		if calls++; calls == 1 {
			d.write(".claude.json", `{"a": 2}`, 0o600)
		}
		return p
	})
	if got := d.read(".claude.json"); p.Err != nil || calls != 2 || !strings.Contains(got, `"a": 2`) || !strings.Contains(got, "mcp-serve") {
		t.Errorf("%v after %d plans: %s", p.Err, calls, got)
	}
	if got := d.read(filepath.Base(p.Changes[0].Backup)); got != `{"a": 2}` {
		t.Errorf("kept: %s", got)
	}
	d.q.Command = "/else/tutti"
	calls = 0
	p = d.q.Do(func() *Plan {
		if calls++; calls == 1 {
			return &Plan{Driver: claude, Err: (&Change{}).changed()} // it was being written while it was read
		}
		return d.q.Plan(claude)
	})
	if p.Err != nil || calls != 2 || !strings.Contains(d.read(".claude.json"), "/else") {
		t.Errorf("%v after %d plans", p.Err, calls)
	}
	d.q.Command = "/other/tutti"
	calls = 0
	p = d.q.Do(func() *Plan {
		p := d.q.Plan(claude)
		calls++
		d.write(".claude.json", strings.Repeat(" ", calls)+`{"a": 3}`, 0o600)
		return p
	})
	if !errors.Is(p.Err, ErrChanged) || calls != tries || strings.TrimSpace(d.read(".claude.json")) != `{"a": 3}` {
		t.Errorf("without end: %v after %d plans", p.Err, calls)
	}
}

// The second file cannot be written once the first is: the first is put back, and no copy of either stays.
func TestRollback(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".claude.json", `{"a": 1}`, 0o600)
	d.write(".claude/settings.json", `{"b": 1}`, 0o600)
	claude, _ := driver.Get("claude")
	p := d.q.Plan(claude)
	for _, step := range []func(*Change) error{(*Change).stage, func(c *Change) error { return d.q.keep(c) }} {
		for _, c := range p.Changes {
			if err := step(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Changes[0].commit(); err != nil {
		t.Fatal(err)
	}
	d.write(".claude/settings.json", `{"b": 2}`, 0o600)
	if err := p.Changes[1].commit(); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	if err := takeBack(p.Changes); err != nil {
		t.Error(err)
	}
	for _, c := range p.Changes {
		c.unstage()
	}
	d.same(map[string]string{".claude": "d---------", ".claude.json": `{"a": 1}`, ".claude/settings.json": `{"b": 2}`}, "taken back")
}

// An empty file goes with what was ours, but not one that a link of the user's leads to: the link would lead nowhere.
func TestLinkedFileIsKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Server = false
	d.write("dotfiles/settings.json", "", 0o600)
	if err := os.Mkdir(filepath.Join(d.home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/settings.json", filepath.Join(d.home, ".claude/settings.json")); err != nil {
		t.Fatal(err)
	}
	d.ok("claude")
	for name := range d.files() {
		if strings.Contains(name, ".tutti-") { // the user has tidied up
			_ = os.Remove(filepath.Join(d.home, name))
		}
	}
	d.q.Remove = true
	d.ok("claude")
	if got := d.read(".claude/settings.json"); strings.TrimSpace(got) != "{}" && got != "" {
		t.Errorf("got %q", got)
	}
	d.q.Remove = false
	d.ok("claude")
}

// Newer versions of the programs have what we do not know, in the entry of the server as well.
func TestUnknownEntryMembersAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text string }{
		"claude":   {".claude.json", `{"future": {"v": 9}, "mcpServers": {"$schema": 3, "tutti": {"command": "/old/tutti", "args": ["mcp-serve"], "alwaysLoad": true, "new": {"x": [1, 2.50]}}, "c": {"transport": {"kind": "quic"}}}}`},
		"gemini":   {".gemini/settings.json", `{"mcpServers": {"tutti": {"command": "/old/tutti", "args": ["mcp-serve"], "trust": false, "new": {"x": [1, 2.50]}}}, "hooks": {"Stop": {"by": "name"}, "AfterTool": [{"hooks": [{"type": "wasm", "module": 1}], "when": {"x": 1}}, "all"]}}`},
		"opencode": {".config/opencode/opencode.json", `{"autoupdate": false, "mcp": {"tutti": {"type": "local", "command": ["/old/tutti", "mcp-serve"], "enabled": false, "new": {"x": [1, 2.50]}}}}`},
		"codex":    {".codex/config.toml", "model = 'x' # m\n[mcp_servers.tutti]\ncommand = '/old/tutti'\nargs = ['mcp-serve']\nrequired = true\nstartup_timeout_sec = 2.50\n[mcp_servers.tutti.new]\nx = [1, 2.5] # n\n[future]\nwhen = 2026-01-02\n"},
		"hermes":   {".hermes/config.yaml", "mcp_servers:\n  tutti:\n    command: /old/tutti\n    args: [mcp-serve]\n    new: {x: [1, 2.50]} # n\nfuture: !odd v\n"},
	} {
		d := newDesk(t)
		d.write(c.file, c.text, 0o600)
		program, _ := driver.Get(name)
		d.ok(name)
		got := d.read(c.file)
		f, _ := program.Servers.File(driver.User)
		entry, _, err := settings.Get(f.Format, []byte(got), serverPath(program))
		if owner, s := OwnerOf(program, entry); err != nil || owner != Ours || s.Command != d.q.Command || !slices.Equal(s.Args, d.q.Wanted(program).Args) {
			t.Errorf("%s: %v, %s", name, err, entry)
		}
		// All but the two members that say how it is started is there, to the byte.
		for _, line := range strings.FieldsFunc(c.text, func(r rune) bool { return r == '\n' }) {
			if name == "codex" || name == "hermes" {
				if !strings.Contains(got, line+"\n") && !strings.Contains(line, "command") && !strings.Contains(line, "args") {
					t.Errorf("%s: %q is gone from\n%s", name, line, got)
				}
				continue
			}
			for _, want := range []string{`"new": {"x": [1, 2.50]}`, c.text[:12]} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: %q is gone from\n%s", name, want, got)
				}
			}
		}
		for _, want := range []string{`"trust": false`, `"enabled": false`, `"alwaysLoad": true`, `"c": {"transport": {"kind": "quic"}}`, `"Stop": {"by": "name"}`, `"when": {"x": 1}}, "all"`} {
			if strings.Contains(c.text, want) && !strings.Contains(got, want) {
				t.Errorf("%s: %q is gone from\n%s", name, want, got)
			}
		}
		if p := d.ok(name); p.Changed() {
			t.Errorf("%s: a second run changes it", name)
		}
		d.q.Remove = true
		d.ok(name)
		if got := d.read(c.file); strings.Contains(got, "tutti") {
			t.Errorf("%s: after removal\n%s", name, got)
		}
	}
}
