package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
)

// A desk is a user with a home folder and a project.
type desk struct {
	t    *testing.T
	home string
	q    Request
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	home := t.TempDir()
	return &desk{t: t, home: home, q: Request{
		Place: driver.Site{Home: home, Dir: filepath.Join(home, "project")}, Command: "/opt/my tools/tutti",
		Server: true, Hooks: true, Now: time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC),
	}}
}

func (d *desk) write(name, text string, perm fs.FileMode) string {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) read(name string) string {
	d.t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.home, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(raw)
}

// files are all names below the home folder, with their texts.
func (d *desk) files() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == d.home {
			return err
		}
		rel, _ := filepath.Rel(d.home, path)
		all[rel] = e.Type().String()
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			all[rel] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func (d *desk) same(before map[string]string, what string) {
	d.t.Helper()
	after := d.files()
	for name, text := range before {
		if got, ok := after[name]; !ok || got != text {
			d.t.Errorf("%s: %s was\n%s\nis (%v)\n%s", what, name, text, ok, got)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			d.t.Errorf("%s: there is %s now", what, name)
		}
	}
}

func (d *desk) setup(name string) (*Plan, error) {
	d.t.Helper()
	program, _ := driver.Get(name)
	p := d.q.Plan(program)
	return p, p.Apply(&d.q)
}

func (d *desk) ok(name string) *Plan {
	d.t.Helper()
	p, err := d.setup(name)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return p
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "settings", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// fixtures are settings as people have them, by where they lie.
var fixtures = map[string]map[string]string{
	"claude":   {".claude.json": "claude.json", ".claude/settings.json": "claude-settings.json"},
	"codex":    {".codex/config.toml": "codex.toml"},
	"gemini":   {".gemini/settings.json": "gemini.json"},
	"opencode": {".config/opencode/opencode.jsonc": "opencode.jsonc"},
	"hermes":   {".hermes/config.yaml": "hermes.yaml"},
	"agy":      {},
}

// Out of real settings and out of nothing: what setup put there is there, a second run changes nothing, and removal brings back
// what was, to the byte.
func TestSetupAndRemove(t *testing.T) {
	t.Parallel()
	for _, program := range driver.All() {
		for _, full := range []bool{false, true} {
			t.Run(program.Name+map[bool]string{true: " in settings", false: " from nothing"}[full], func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				if full {
					for at, name := range fixtures[program.Name] {
						d.write(at, fixture(t, name), 0o640)
					}
				}
				// What is ours in the fixtures comes out first, so that removal can be compared.
				d.q.Remove = true
				d.ok(program.Name)
				for name := range d.files() {
					if strings.Contains(name, ".tutti-") {
						_ = os.Remove(filepath.Join(d.home, name))
					}
				}
				before := d.files()
				d.q.Remove, d.q.Force = false, true
				p := d.ok(program.Name)
				if !p.Changed() {
					t.Fatal("nothing was changed")
				}
				f, _ := program.Servers.File(driver.User)
				c := p.Changes[0]
				text, err := os.ReadFile(c.Path)
				if err != nil {
					t.Fatal(err)
				}
				entry, ok, err := settings.Get(f.Format, text, append(slices.Clone(program.Servers.Table), "tutti"))
				owner, s := OwnerOf(program, entry)
				if !ok || err != nil || owner != Ours || s.Command != d.q.Command || !slices.Equal(s.Args, d.q.Wanted(program).Args) {
					t.Fatalf("%v %v %v %+v in\n%s", ok, err, owner, s, text)
				}
				d.q.Force = false
				set := d.files()
				if again := d.ok(program.Name); again.Changed() {
					t.Errorf("a second run changes %q", again.Changes[0].Did)
				}
				d.same(set, "a second run")

				d.q.Remove = true
				d.ok(program.Name)
				after := d.files()
				for name := range after {
					if strings.Contains(name, ".tutti-") {
						delete(after, name)
						_ = os.Remove(filepath.Join(d.home, name))
					}
				}
				if hadForeign(t, program, before) {
					return
				}
				for name := range after {
					if _, ok := before[name]; !ok && after[name] == "d---------" {
						_ = os.Remove(filepath.Join(d.home, name)) // a folder of the program's, which it would make as well
					}
				}
				for name, text := range before {
					if after[name] != text {
						t.Errorf("%s after removal\n%s", name, settings.Diff([]byte(text), []byte(after[name])))
					}
				}
				for name, text := range after {
					if _, ok := before[name]; !ok && text != "d---------" {
						t.Errorf("%s is left: %s", name, text)
					}
				}
			})
		}
	}
}

// hadForeign tells whether the settings had a server of our name that was somebody else's: it was replaced.
func hadForeign(t *testing.T, d *driver.Driver, files map[string]string) bool {
	t.Helper()
	f, _ := d.Servers.File(driver.User)
	for at := range fixtures[d.Name] {
		if _, ok, err := settings.Get(f.Format, []byte(files[at]), append(slices.Clone(d.Servers.Table), "tutti")); err == nil && ok {
			return true
		}
	}
	return false
}

// TestRemoveKeepsLaterEdits: the user's later edits elsewhere in the file survive a removal.
func TestRemoveKeepsLaterEdits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".claude/settings.json", "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  }\n}\n", 0o600)
	d.ok("claude")
	text := d.read(".claude/settings.json")
	if !strings.Contains(text, `'/opt/my tools/tutti' hook claude Stop --wait`) {
		t.Fatalf("got %s", text)
	}
	text = strings.Replace(text, `"model": "opus"`, `"model": "haiku", "x": [1, 2]`, 1)
	// A command of theirs beside ours, in our entry.
	const ours = `"command": "[ -x '/opt/my tools/tutti' ] || exit 0; exec '/opt/my tools/tutti' hook claude UserPromptSubmit --all-tools"`
	text = strings.Replace(text, ours, `"command": "date"},{"type":"command",`+ours, 1)
	d.write(".claude/settings.json", text, 0o600)
	d.q.Remove = true
	d.ok("claude")
	got := d.read(".claude/settings.json")
	for _, want := range []string{"// mine", `"model": "haiku", "x": [1, 2]`, "say done", "date"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is gone from\n%s", want, got)
		}
	}
	if strings.Contains(got, "tutti") {
		t.Errorf("something of ours is left in\n%s", got)
	}
}

func TestForeignAndOriginal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Hooks = false
	foreign := `{"mcpServers": {"tutti": {"command": "/usr/bin/other", "args": ["x"]}}}`
	d.write(".claude.json", foreign, 0o600)
	before := d.files()
	_, err := d.setup("claude")
	if state, ok := errors.AsType[*StateError](err); !ok || !strings.Contains(err.Error(), "/usr/bin/other x") || !strings.Contains(state.Hint(), "--force") {
		t.Fatalf("got %v", err)
	}
	d.same(before, "refused")
	d.q.Remove = true
	if p := d.ok("claude"); p.Changed() || len(p.Remarks) != 1 {
		t.Errorf("removal of what is not ours: %v %q", p.Changed(), p.Remarks)
	}
	d.q.Remove, d.q.Force = false, true
	d.ok("claude")
	if got := d.read(".claude.json"); strings.Contains(got, "other") || !strings.Contains(got, "mcp-serve") {
		t.Errorf("got %s", got)
	}
	if got := d.read(".claude.json.tutti-20261121-170000"); got != foreign {
		t.Errorf("kept: %s", got)
	}

	d.q.Force = false
	for _, old := range []string{
		`{"command": "h2a", "args": ["mcp-serve", "--auto-open", "--host", "claude", "--auto-upgrade", "--root", "/srv/bus"], "env": {"A": "b"}}`,
		`{"command": "npx", "args": ["-y", "@x/h2a", "mcp-serve", "--root=/srv/bus"], "env": {"A": "b"}}`,
		`{"command": "/old/tutti", "args": ["mcp-serve", "--root", "/srv/bus"], "env": {"A": "b"}}`,
	} {
		d.write(".claude.json", `{"mcpServers": {"tutti": `+old+`}}`, 0o600)
		p := d.ok("claude")
		got := d.read(".claude.json")
		var compact bytes.Buffer
		for _, w := range strings.Fields(got) {
			compact.WriteString(w)
		}
		if !strings.Contains(compact.String(), `"--root","/srv/bus"]`) || !strings.Contains(got, "/opt/my tools/tutti") || !strings.Contains(compact.String(), `"env":{"A":"b"}`) || len(p.Remarks) != 1 {
			t.Errorf("%s\ngot %s\n%q", old, got, p.Remarks)
		}
	}
}

// The set of tools that a user chose stays.
func TestToolsAreKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".claude.json", `{"mcpServers": {"tutti": {"command": "/old/tutti", "args": ["mcp-serve", "--tools", "all"]}}}`, 0o600)
	for range 2 {
		d.ok("claude")
	}
	if got := strings.Join(strings.Fields(d.read(".claude.json")), ""); !strings.Contains(got, `"--auto-open","--host","claude","--tools","all"]`) {
		t.Errorf("got %s", got)
	}
}

// An older entry of ours under another name would have the agent there twice.
func TestRetire(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".claude.json", `{"mcpServers": {"mine": {"type": "stdio", "command": "tutti", "args": ["mcp-serve", "--auto-open", "--host", "claude"], "env": {}}, "b": {"command": "b"}}}`, 0o600)
	d.ok("claude")
	if got := d.read(".claude.json"); strings.Contains(got, `"mine":`) || !strings.Contains(got, `"b"`) {
		t.Errorf("got %s", got)
	}
	for _, own := range []string{
		`{"command": "tutti", "args": ["mcp-serve", "--name", "ana"]}`, `{"command": "tutti", "args": ["mcp-serve"], "alwaysLoad": true}`,
		`{"command": "tutti", "args": ["mcp-serve"], "env": {"A": "b"}}`,
	} {
		d.write(".claude.json", `{"mcpServers": {"mine": `+own+`}}`, 0o600)
		if p := d.ok("claude"); len(p.Remarks) != 1 || !strings.Contains(d.read(".claude.json"), own) {
			t.Errorf("got %q %s", p.Remarks, d.read(".claude.json"))
		}
	}
}

func TestLinksRightsAndBackups(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	real := d.write("dotfiles/config.toml", "model = \"x\" # mine\n", 0o604)
	if err := os.Mkdir(filepath.Join(d.home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(d.home, ".codex/config.toml")
	if err := os.Symlink("../dotfiles/config.toml", link); err != nil {
		t.Fatal(err)
	}
	p := d.ok("codex")
	if target, err := os.Readlink(link); err != nil || target != "../dotfiles/config.toml" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if !strings.Contains(d.read("dotfiles/config.toml"), "[mcp_servers.tutti]") {
		t.Error("what the link leads to was not changed")
	}
	for _, path := range []string{real, p.Changes[0].Backup} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o604 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if want := real + ".tutti-20261121-170000"; p.Changes[0].Backup != want {
		t.Errorf("backup: got %s, want %s", p.Changes[0].Backup, want)
	}
	d.q.Command = "/other/tutti" // in the same second
	if p := d.ok("codex"); p.Changes[0].Backup != real+".tutti-20261121-170000-2" {
		t.Errorf("second backup: %s", p.Changes[0].Backup)
	}
	if info, err := os.Stat(filepath.Join(d.home, ".codex/hooks.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: %v, %v", info, err)
	}
}

// TestFileOwnerIsKept: settings that root edits keep their owner.
func TestFileOwnerIsKept(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	d := newDesk(t)
	const uid, gid = 12345, 23456
	path := d.write(".claude/settings.json", `{"a": 1}`, 0o640)
	for _, p := range []string{path, filepath.Dir(path)} {
		if err := os.Lchown(p, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	d.q.Server = false
	p := d.ok("claude")
	for _, name := range []string{path, p.Changes[0].Backup} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != gid || info.Mode().Perm() != 0o640 {
			t.Errorf("%s is %d:%d %v", name, st.Uid, st.Gid, info.Mode())
		}
	}
}

// TestNewFilesHaveHomeOwner: files that root creates in a user's home belong to that user; otherwise the program could not read them.
func TestNewFilesHaveHomeOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	d := newDesk(t)
	const uid, gid = 12345, 23456
	if err := os.Lchown(d.home, uid, gid); err != nil {
		t.Fatal(err)
	}
	d.ok("codex")
	for _, name := range []string{".codex", ".codex/config.toml", ".codex/hooks.json"} {
		info, err := os.Stat(filepath.Join(d.home, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != gid || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %d:%d %v", name, st.Uid, st.Gid, info.Mode())
		}
	}
}

func TestLinkOutOfProject(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Scope = driver.Project
	d.write("secret.json", "{}", 0o600)
	d.write("project/.claude/x", "", 0o600)
	if err := os.Symlink("../../secret.json", filepath.Join(d.home, "project/.claude/settings.json")); err != nil {
		t.Fatal(err)
	}
	before := d.files()
	if _, err := d.setup("claude"); err == nil || !strings.Contains(err.Error(), "leads out of the project") {
		t.Errorf("got %v", err)
	}
	d.same(before, "refused")
	if err := os.Remove(filepath.Join(d.home, "project/.claude/settings.json")); err != nil {
		t.Fatal(err)
	}
	d.ok("claude")
	if got := d.read("project/.mcp.json"); !strings.Contains(got, "mcp-serve") {
		t.Errorf("got %s", got)
	}
	if p, err := d.setup("hermes"); err == nil {
		t.Errorf("a program without settings of a project: %+v", p)
	}
}

// TestFailedSetupChangesNothing: if setup fails for one file, it changes none and leaves nothing behind.
func TestFailedSetupChangesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(d *desk){
		"damaged":        func(d *desk) { d.write(".claude/settings.json", "{\"hooks\": {", 0o600) },
		"twice":          func(d *desk) { d.write(".claude/settings.json", `{"hooks": {}, "hooks": {}}`, 0o600) },
		"no list":        func(d *desk) { d.write(".claude/settings.json", `{"hooks": {"Stop": "x"}}`, 0o600) },
		"no table":       func(d *desk) { d.write(".claude/settings.json", `[1]`, 0o600) },
		"read-only file": func(d *desk) { d.write(".claude/settings.json", "{}", 0o400) },
		"read-only folder": func(d *desk) {
			d.write(".claude/settings.json", "{}", 0o600)
			_ = os.Chmod(filepath.Join(d.home, ".claude"), 0o500)
		},
		"read-only home": func(d *desk) { _ = os.Chmod(d.home, 0o500) },
		"folder":         func(d *desk) { d.write(".claude/settings.json/x", "", 0o600) },
		"lost link": func(d *desk) {
			d.write(".claude/x", "", 0o600)
			_ = os.Symlink("nowhere", filepath.Join(d.home, ".claude/settings.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			t.Cleanup(func() {
				_ = os.Chmod(d.home, 0o700)
				_ = os.Chmod(filepath.Join(d.home, ".claude"), 0o700)
			})
			if name != "read-only home" {
				d.write(".claude.json", `{"a": 1}`, 0o600)
			}
			spoil(d)
			before := d.files()
			p, err := d.setup("claude")
			if err == nil || !strings.Contains(err.Error(), d.home) {
				t.Fatalf("got %v", err)
			}
			if _, state := errors.AsType[*StateError](err); state == strings.HasPrefix(name, "read-only") {
				t.Errorf("got %T %v", err, err)
			}
			t.Log(err)
			d.same(before, "failed")
			for _, c := range p.Changes {
				if c.Backup != "" {
					t.Errorf("a backup is reported: %s", c.Backup)
				}
			}
		})
	}
}

// TestLostUpdate: another program writes between our read and our write.
func TestLostUpdate(t *testing.T) {
	t.Parallel()
	program, _ := driver.Get("claude")
	for name, meddle := range map[string]func(d *desk){
		"first changed":  func(d *desk) { d.write(".claude.json", `{"a": 2}`, 0o600) },
		"second changed": func(d *desk) { d.write(".claude/settings.json", `{"b": 2}`, 0o600) },
		"second gone":    func(d *desk) { _ = os.Remove(filepath.Join(d.home, ".claude/settings.json")) },
	} {
		d := newDesk(t)
		d.write(".claude.json", `{"a": 1}`, 0o600)
		d.write(".claude/settings.json", `{"b": 1}`, 0o600)
		p := d.q.Plan(program)
		meddle(d)
		before := d.files()
		if err := p.Apply(&d.q); err == nil || !strings.Contains(err.Error(), "has just changed it") {
			t.Errorf("%s: got %v", name, err)
		}
		d.same(before, name)
	}
	d := newDesk(t)
	p := d.q.Plan(program)
	d.write(".claude.json", `{"new": 1}`, 0o600)
	if err := p.Apply(&d.q); err == nil || d.read(".claude.json") != `{"new": 1}` {
		t.Errorf("made meanwhile: %v, %s", err, d.read(".claude.json"))
	}
}

// The second of two files fails when the first is written already: the first is put back.
func TestUndo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".claude.json", `{"a": 1}`, 0o600)
	program, _ := driver.Get("claude")
	p := d.q.Plan(program)
	before := d.files()
	a := p.Changes[0]
	for _, step := range []func() error{a.stage, func() error { return d.q.keep(a) }, a.commit} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := takeBack(p.Changes[:1]); err != nil {
		t.Fatal(err)
	}
	a.unstage()
	d.same(before, "undone")
}

func TestOpencodeConfigFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ json, jsonc, want string }{
		{"", "", "opencode.json"},
		{`{}`, "", "opencode.json"},
		{"", `{}`, "opencode.jsonc"},
		{`{}`, `{"mcp": {}}`, "opencode.jsonc"},
		{`{"mcp": {"tutti": {"type": "local", "command": ["tutti", "mcp-serve"]}}}`, `{"mcp": {}}`, "opencode.json"},
	} {
		d := newDesk(t)
		for name, text := range map[string]string{"opencode.json": c.json, "opencode.jsonc": c.jsonc} {
			if text != "" {
				d.write(".config/opencode/"+name, text, 0o600)
			}
		}
		p := d.ok("opencode")
		if got := filepath.Base(p.Changes[0].Path); got != c.want || !strings.Contains(d.read(".config/opencode/"+c.want), "mcp-serve") {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// TestOpencodeSecondConfigFile: opencode reads both files, and our entry is in one of them.
func TestOpencodeSecondConfigFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const old = `{"mcp": {"tutti": {"type": "local", "command": ["/old/tutti", "mcp-serve"]}, "b": {"type": "local", "command": ["b"]}}}`
	d.write(".config/opencode/opencode.json", old, 0o600)
	d.write(".config/opencode/opencode.jsonc", old, 0o600)
	d.ok("opencode")
	a, b := d.read(".config/opencode/opencode.json"), d.read(".config/opencode/opencode.jsonc")
	if !strings.Contains(a, "/opt/my tools/tutti") || strings.Contains(b, "tutti") || !strings.Contains(b, `"b"`) {
		t.Errorf("got\n%s\n%s", a, b)
	}
	if p := d.ok("opencode"); p.Changed() {
		t.Error("a second run changes it")
	}
}

// Two names of one file are one file.
func TestConfigFileWithTwoNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write(".config/opencode/opencode.json", "{}", 0o600)
	if err := os.Symlink("opencode.json", filepath.Join(d.home, ".config/opencode/opencode.jsonc")); err != nil {
		t.Fatal(err)
	}
	d.ok("opencode")
	if got := d.read(".config/opencode/opencode.json"); !strings.Contains(got, "mcp-serve") {
		t.Errorf("got %s", got)
	}
	if p := d.ok("opencode"); p.Changed() {
		t.Error("a second run changes it")
	}
	d.q.Remove = true
	d.ok("opencode")
	if got := d.read(".config/opencode/opencode.json"); got != "{}" {
		t.Errorf("after removal: %s", got)
	}
}

func TestIsHook(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		`/opt/tutti hook claude Stop`:                  true,
		`'/opt/my tools/tutti' hook claude Stop`:       true,
		`"/opt/my tools/tutti" hook claude Stop`:       true,
		`/opt/my\ tools/tutti hook claude Stop --wait`: true,
		`FOO=1 tutti hook claude Stop || true`:         true,
		`/opt/tutti hook codex Stop`:                   false,
		`/opt/tutti send x hook`:                       false,
		`echo "tutti hook claude"`:                     false,
		`/opt/nottutti hook claude Stop`:               false,
		`tutti hook`:                                   false,
		``:                                             false,
		`'unclosed tutti hook claude`:                  false,
	} {
		if got := isHook("claude", command); got != want {
			t.Errorf("%s: got %v", command, got)
		}
	}
	for _, s := range []string{"/a/tutti", "/a b/tutti", "/it's/tutti", "/ü/tutti", "-x", ""} {
		if got := words(quote(s)); len(got) != 1 || got[0] != s {
			t.Errorf("%q: quoted %s, read as %q", s, quote(s), got)
		}
	}
}

// Newer versions have what we do not know; hooks of the older programs and of others stay.
func TestUnknownSettingsAreKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := `{"future": {"x": [1]}, "hooks": {"Later": [{"hooks": [{"type": "prompt", "prompt": "p"}]}], "disabled": ["a"], "on": true,
  "AfterAgent": [{"matcher": "*", "sequential": true, "hooks": [{"type": "command", "command": "h2a drumbeat record --instance x"}]}]}}`
	d.write(".gemini/settings.json", text, 0o600)
	d.ok("gemini")
	got := d.read(".gemini/settings.json")
	for _, want := range []string{`"future": {"x": [1]}`, `"disabled": ["a"]`, `"on": true`, "drumbeat record --instance x", `"prompt": "p"`, "hook gemini AfterAgent"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	d.q.Remove = true
	d.ok("gemini")
	if got := d.read(".gemini/settings.json"); got != text {
		t.Errorf("after removal\n%s", settings.Diff([]byte(text), []byte(got)))
	}
	// Hooks of ours at an event that we no longer use.
	d.q.Remove = false
	d.write(".gemini/settings.json", `{"hooks": {"PreCompress": [{"hooks": [{"type": "command", "command": "/old/tutti hook gemini PreCompress"}]}]}}`, 0o600)
	d.ok("gemini")
	if got := d.read(".gemini/settings.json"); strings.Contains(got, "PreCompress") {
		t.Errorf("got %s", got)
	}
}
