package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/skill"
	"tutti/internal/test/progfile"
)

func (d *desk) script(name, text string) string {
	return d.write(name, "#!/bin/sh\n"+text, 0o755)
}

// shell is a server that a shell reads: a file that was just written cannot be run as a program while a test beside this one starts
// another one and has it still open.
func (d *desk) shell(name, text string) driver.Server {
	return driver.Server{Command: "/bin/sh", Args: []string{d.write(name, text, 0o600)}}
}

const (
	hello  = `echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"fake","version":"9"}}}'` + "\n"
	listed = `echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"tutti_status"}]}}'` + "\n"
	told   = `echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"root\":\"/srv/bus\",\"rootSource\":\"flag\"}"}]}}'` + "\n"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	claude, _ := driver.Get("claude")
	for _, c := range []struct {
		name, script string
		want         Answer
		err          string
	}{
		{"well", "read a\n" + hello + "read b; read c\n" + listed + "read d\n" + told + "read e", Answer{Name: "fake", Version: "9", Tools: 2, Root: "/srv/bus", Source: "flag"}, ""},
		{"noise", "echo hello; echo '{'; echo '{\"id\":7}'; echo '{\"method\":\"notifications/h2a\"}'\n" + hello + "echo '[]'\n" + listed + told + "sleep 0.1", Answer{Name: "fake", Version: "9", Tools: 2, Root: "/srv/bus", Source: "flag"}, ""},
		{
			"no bus", hello + listed + strings.ReplaceAll(told, `\"rootSource`, `\"problem\":\"open store: no\",\"rootSource`) + "cat >/dev/null",
			Answer{Name: "fake", Version: "9", Tools: 2, Root: "/srv/bus", Source: "flag", Problem: "open store: no"},
			"",
		},
		{
			"nobody", hello + listed + strings.ReplaceAll(told, `\"rootSource`, `\"instance\":null,\"problem\":\"who?\",\"rootSource`) + "cat >/dev/null",
			Answer{Name: "fake", Version: "9", Tools: 2, Root: "/srv/bus", Source: "flag"},
			"",
		},
		{"no such tool", hello + `echo '{"id":2,"result":{"tools":[]}}'; cat >/dev/null`, Answer{Name: "fake", Version: "9"}, ""},
		{"ends at once", "echo 'no config' >&2; exit 3", Answer{}, "no config"},
		{"refuses", `echo '{"id":1,"error":{"message":"not you"}}'; cat >/dev/null`, Answer{}, "initialize is refused: not you"},
		{"stays after its input", hello + listed + told + "exec sleep 60", Answer{Name: "fake", Version: "9", Tools: 2, Root: "/srv/bus", Source: "flag"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.q.Place.Dir = d.home
			r := &Registered{Server: d.shell("server", c.script)}
			began := time.Now()
			got, err := d.q.Probe(t.Context(), claude, r)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %+v, %v; want %q", got, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Took = 0; *got != c.want {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A server that says nothing is ended with all that it has started, in the time that it is given.
func TestProbeHangs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Place.Dir = d.home
	claude, _ := driver.Get("claude")
	r := &Registered{Server: d.shell("server", "sleep 600 & echo $! >"+d.home+"/pid\nwait")}
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	began := time.Now()
	_, err := d.q.Probe(ctx, claude, r)
	if !errors.Is(err, errSilent) || time.Since(began) > 4*time.Second {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
	pid := strings.TrimSpace(d.read("pid"))
	for hasProc() {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("process %s goes on", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// One that has left something behind, out of reach, which holds its output open.
	ctx, stop = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	began = time.Now()
	r.Server = d.shell("forking", "setsid sleep 8 &\nexec sleep 600")
	if _, err := d.q.Probe(ctx, claude, r); !errors.Is(err, errSilent) || time.Since(began) > 5*time.Second {
		t.Errorf("with a child elsewhere: got %v after %s", err, time.Since(began))
	}
	if _, err := d.q.Probe(t.Context(), claude, &Registered{Server: driver.Server{Command: "/no/such"}}); err == nil {
		t.Error("a program that is not there answers")
	}
}

// A project may come from strangers: what its settings name is not run to be looked at.
func TestStarts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Command = d.script("bin/tutti", "exit 0")
	other := d.script("project/tutti", "exit 0")
	if err := os.Symlink(d.q.Command, filepath.Join(d.home, "bin/h2a")); err != nil {
		t.Fatal(err)
	}
	serve := []string{"mcp-serve", "--auto-open"}
	for _, c := range []struct {
		scope  driver.Scope
		owner  Owner
		server driver.Server
		want   bool
	}{
		{driver.User, Ours, driver.Server{Command: other, Args: serve}, true},
		{driver.User, Foreign, driver.Server{Command: d.q.Command, Args: serve}, false},
		{driver.Project, Ours, driver.Server{Command: d.q.Command, Args: serve}, true},
		{driver.Project, Original, driver.Server{Command: filepath.Join(d.home, "bin/h2a"), Args: serve}, true},
		{driver.Project, Ours, driver.Server{Command: d.q.Command, Args: serve, Env: [][2]string{{"H2A_ROOT", "/srv"}}}, true},
		{driver.Project, Ours, driver.Server{Command: other, Args: serve}, false},
		{driver.Project, Ours, driver.Server{Command: "./tutti", Args: serve}, false},
		{driver.Project, Ours, driver.Server{Command: d.q.Command, Args: []string{"init", "mcp-serve"}}, false},
		{driver.Project, Ours, driver.Server{Command: d.q.Command, Args: serve, Env: [][2]string{{"LD_PRELOAD", "./x.so"}}}, false},
		{driver.Project, Original, driver.Server{Command: "npx", Args: []string{"-y", "@evil/h2a", "mcp-serve"}}, false},
	} {
		r := &Registered{Scope: c.scope, Owner: c.owner, Server: c.server}
		if got := d.q.Starts(r); got != c.want {
			t.Errorf("%s %v %+v: got %v", c.scope, c.owner, c.server, got)
		}
	}
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// Codex hands next to nothing on, but what the entry names.
func TestEnvironment(t *testing.T) {
	t.Setenv("H2A_ROOT", "/srv/bus")
	t.Setenv("MY_VAR", "x")
	codex, _ := driver.Get("codex")
	claude, _ := driver.Get("claude")
	r := &Registered{Server: driver.Server{Env: [][2]string{{"A", "b"}}}, passed: []string{"MY_VAR", "NOT_SET"}}
	got := environment(codex, r)
	if slices.Contains(got, "H2A_ROOT=/srv/bus") || !slices.Contains(got, "MY_VAR=x") || !slices.Contains(got, "A=b") || !slices.Contains(got, "PATH="+os.Getenv("PATH")) {
		t.Errorf("codex: got %q", got)
	}
	if got := environment(claude, r); !slices.Contains(got, "H2A_ROOT=/srv/bus") || !slices.Contains(got, "A=b") || !slices.Contains(got, "TUTTI_LOOK=1") {
		t.Errorf("claude: got %q", got)
	}
}

func TestLook(t *testing.T) {
	d := newDesk(t)
	bin := filepath.Join(d.home, "bin")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d.script("bin/gemini", "cat; echo 'Gemini CLI v0.99.1-nightly (x)'")
	d.script("bin/hermes", "touch "+d.home+"/ran")
	gemini, _ := driver.Get("gemini")
	look := func() *Status { return d.q.Look(t.Context(), gemini) }

	s := look()
	if s.Program != filepath.Join(bin, "gemini") || s.Version != "0.99.1-nightly" || len(s.Servers) != 0 || len(s.Hooks) != 1 || s.Hooks[0].State != Missing {
		t.Errorf("from nothing: %+v", s)
	}
	d.ok("gemini")
	if s = look(); len(s.Servers) != 1 || s.Servers[0].Owner != Ours || !s.Servers[0].Current || s.Hooks[0].State != InPlace {
		t.Errorf("after setup: %+v", s)
	}
	command := d.q.Command
	d.q.Command = "/new/tutti"
	if s = look(); s.Servers[0].Current || s.Hooks[0].State != Outdated {
		t.Errorf("of another program: %+v", s)
	}
	d.q.Command, d.q.Root = command, "/srv/bus"
	d.ok("gemini")
	d.q.Root = ""
	if s = look(); !s.Servers[0].Current || s.Hooks[0].State != InPlace || !slices.Contains(s.Servers[0].Server.Args, "/srv/bus") {
		t.Errorf("with a root of its own: %+v", s)
	}
	before := d.read(".gemini/settings.json")
	if p := d.ok("gemini"); p.Changed() {
		t.Errorf("setup without a root forgets it: %s", settings.Diff([]byte(before), []byte(d.read(".gemini/settings.json"))))
	}
	d.write(".gemini/settings.json", "{", 0o600)
	if s = look(); len(s.Servers) != 1 || s.Servers[0].Err == nil || s.Hooks[0].State != Unreadable {
		t.Errorf("damaged: %+v", s)
	}
	hermes, _ := driver.Get("hermes")
	if s := d.q.Look(t.Context(), hermes); s.Program == "" || s.Version != "" {
		t.Errorf("hermes: %+v", s)
	}
	if _, err := os.Stat(filepath.Join(d.home, "ran")); err == nil {
		t.Error("a program that was not to be tried was run")
	}
}

// TestSwitchedOff: an entry that its user has switched off stays off, and is reported.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text string }{
		"opencode": {".config/opencode/opencode.json", `{"mcp": {"tutti": {"type": "local", "command": ["/old/tutti", "mcp-serve"], "enabled": false}}}`},
		"codex":    {".codex/config.toml", "[mcp_servers.tutti]\ncommand = '/old/tutti'\nargs = ['mcp-serve']\nenabled = false\n"},
		"agy":      {".gemini/config/mcp_config.json", `{"mcpServers": {"tutti": {"command": "/old/tutti", "args": ["mcp-serve"], "disabled": true}}}`},
	} {
		d := newDesk(t)
		d.write(c.file, c.text, 0o600)
		program, _ := driver.Get(name)
		for range 2 {
			if s := d.q.Look(t.Context(), program); len(s.Servers) != 1 || !s.Servers[0].Off {
				t.Errorf("%s: %+v", name, s.Servers)
			}
			d.ok(name)
		}
	}
	d := newDesk(t)
	d.ok("opencode")
	program, _ := driver.Get("opencode")
	if s := d.q.Look(t.Context(), program); s.Servers[0].Off {
		t.Error("switched on")
	}
	// That of the older program keeps what its user said, and gets what it lacks.
	d.write(".gemini/settings.json", `{"mcpServers": {"tutti": {"command": "h2a", "args": ["mcp-serve"], "trust": false}}}`, 0o600)
	d.ok("gemini")
	if got := d.read(".gemini/settings.json"); !strings.Contains(got, `"trust": false`) || !strings.Contains(got, "/opt/my tools/tutti") {
		t.Errorf("got %s", got)
	}
	d.write(".gemini/settings.json", `{"mcpServers": {"tutti": {"command": "h2a", "args": ["mcp-serve"]}}}`, 0o600)
	d.ok("gemini")
	if got := d.read(".gemini/settings.json"); !strings.Contains(got, `"trust": true`) {
		t.Errorf("got %s", got)
	}
}

// TestSkillState: the state of a skill tells this release, another release and an edited skill apart.
func TestSkillState(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	claude, _ := driver.Get("claude")
	const path = ".claude/skills/tutti/SKILL.md"
	look := func(scope driver.Scope) (state string) {
		at := &Status{Driver: claude}
		q := d.q
		q.Scope = scope
		at.skills(&q, map[string]bool{})
		for _, s := range at.Skills {
			state += s.State.String() + map[bool]string{true: ", edited"}[s.Edited]
		}
		return state
	}
	if got := look(driver.User); got != "missing" {
		t.Errorf("none: %s", got)
	}
	d.write("project/x", "", 0o600)
	if got := look(driver.Project); got != "" {
		t.Errorf("none in the project: %s", got)
	}
	parts := skill.Parts(skill.Name, driver.Markdown, nil)
	for _, p := range parts {
		d.write(".claude/skills/"+p.Name, p.Text, 0o600)
	}
	if got := look(driver.User); got != "in place" {
		t.Errorf("of today: %s", got)
	}
	d.write(path, parts[0].Text, 0o600) // sealed, and another text
	if got := look(driver.User); got != "outdated" {
		t.Errorf("of another release: %s", got)
	}
	d.write(path, parts[1].Text+"mine", 0o600)
	if got := look(driver.User); got != "in place, edited" {
		t.Errorf("edited: %s", got)
	}
	d.write("project/"+path, parts[0].Text, 0o600)
	if got := look(driver.Project); got != "outdated" {
		t.Errorf("in the project: %s", got)
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	for _, program := range driver.All() {
		if p := PluginFor(program, "x:y", "paused", ""); p.Mechanism == "" || p.Resume == "" || p.Push == (program.Name == "agy") {
			t.Errorf("%s: %+v", program.Name, p)
		}
	}
	claude, _ := driver.Get("claude")
	p := PluginFor(claude, "claude:api:1", "paused", "/srv/my bus")
	for got, want := range map[string]string{
		p.Record: `h2a drumbeat record --instance claude:api:1 --status paused --command 'claude -c' --resume-command 'claude -c' ` +
			`--tmux-session "$(tmux display-message -p '#{session_name}' 2>/dev/null)" --tmux-pane "$TMUX_PANE" --root '/srv/my bus'`,
		p.Receive: `h2a drive receive --to claude:api:1 --stdin --ignore-non-drive --root '/srv/my bus'`,
		p.Poll:    `h2a drumbeat scan --root '/srv/my bus'`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	d := newDesk(t)
	path := d.write("s.json", `{"a": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}, {"type": "command", "command": "cd x && h2a drumbeat record --instance old"}]}]}}`, 0o600)
	for range 2 {
		plan := d.q.PlanHooks(&p, path)
		if err := plan.Apply(&d.q); err != nil {
			t.Fatal(err)
		}
	}
	got := d.read("s.json")
	if strings.Contains(got, "old") || !strings.Contains(got, `"say"`) || strings.Count(got, "drumbeat record") != 1 || strings.Count(got, "drive receive") != 1 {
		t.Errorf("got %s", got)
	}
	codex, _ := driver.Get("codex")
	p = PluginFor(codex, "codex:api:1", "paused", "")
	dir := filepath.Join(d.home, "plugin")
	for range 2 {
		plan, _ := d.q.PlanScaffold(&p, dir)
		if err := plan.Apply(&d.q); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		".agents/plugins/marketplace.json":               `"path": "./plugins/h2a-drumbeat"`,
		"plugins/h2a-drumbeat/.codex-plugin/plugin.json": `"hooks": "./hooks/hooks.json"`,
		"plugins/h2a-drumbeat/hooks/hooks.json":          "codex resume",
	} {
		if got := d.read("plugin/" + name); strings.Count(got, want) == 0 {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestInstalled: the first program on the path in the order for people is what a hint proposes, and none where there is none.
func TestInstalled(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if d := Installed(); d != nil {
		t.Errorf("in an empty folder %s is installed", d.Name)
	}
	for _, name := range []string{"opencode", "codex"} {
		if err := progfile.Write(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if d := Installed(); d == nil || d.Name != name {
			t.Errorf("with %s: %v", name, d)
		}
	}
}
