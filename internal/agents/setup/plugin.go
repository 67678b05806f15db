package setup

import (
	"fmt"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// A Plugin is how a program lets the older programs know that an agent rests, and how it takes what another one drives it
// with: command lines for its hooks.
type Plugin struct {
	Driver    *driver.Driver
	Mechanism string
	Resume    string // takes the last conversation up again
	Push      bool   // a command of the program's own can hand a text to it; else it looks by itself from time to time
	Record    string
	Receive   string
	Poll      string
	hooks     bool // it reads hooks in the form of Claude
}

// The events at which the two commands run, and how each is known again.
var pluginHooks = [...]struct{ event, mark string }{{"Stop", "h2a drumbeat record"}, {"UserPromptSubmit", "h2a drive receive"}}

// PluginHook is where the two commands stand, in words.
const PluginHook = "hooks.Stop + hooks.UserPromptSubmit"

// PluginFor makes the commands for an agent. status is what it is recorded as; root may be empty.
func PluginFor(d *driver.Driver, instance, status, root string) Plugin {
	p := Plugin{Driver: d, Push: true}
	switch d.Name {
	case "claude":
		p.Mechanism, p.Resume, p.hooks = "claude-settings-hook", "claude -c", true
	case "codex":
		p.Mechanism, p.Resume, p.hooks = "codex-app-server", "codex resume", true
	case "gemini":
		p.Mechanism, p.Resume, p.hooks = "gemini-hooks", "gemini -r", true
	case "agy":
		p.Mechanism, p.Resume, p.Push = "agy-plugin-poll", "agy -c", false
	case "hermes":
		p.Mechanism, p.Resume = "hermes-hooks", "hermes --continue"
	case "opencode":
		p.Mechanism, p.Resume = "opencode-plugin", "opencode"
	}
	bus := ""
	if root != "" {
		bus = " --root " + quote(root)
	}
	resume := quote(p.Resume)
	p.Record = pluginHooks[0].mark + " --instance " + quote(instance) + " --status " + quote(status) +
		" --command " + resume + " --resume-command " + resume +
		` --tmux-session "$(tmux display-message -p '#{session_name}' 2>/dev/null)" --tmux-pane "$TMUX_PANE"` + bus
	p.Receive = pluginHooks[1].mark + " --to " + quote(instance) + " --stdin --ignore-non-drive" + bus
	p.Poll = "h2a drumbeat scan" + bus
	return p
}

// Hint is what is done with the commands.
func (p *Plugin) Hint() string {
	if !p.Push {
		return p.Driver.Title + " takes nothing from outside: run poll from time to time, and record when a turn is over"
	}
	return "run record when a turn of " + p.Driver.Title + " is over, and receive before each prompt"
}

// Writes tells whether the program reads the hooks that are written.
func (p *Plugin) Writes() bool { return p.hooks }

// PlanHooks plans to put both commands into a file of hooks. A text that is damaged is given up only when the user insists.
func (q *Request) PlanHooks(p *Plugin, path string) *Plan {
	plan := &Plan{Driver: p.Driver}
	c, err := readChange(path, "")
	if err == nil {
		plan.adopt(c)
		err = q.pluginHooks(p, c)
	}
	plan.Err = err
	return plan
}

func (q *Request) pluginHooks(p *Plugin, c *Change) error {
	if _, _, err := settings.Get(driver.JSON, c.After, []string{"hooks"}); err != nil {
		if !q.Force {
			return &StateError{Path: c.Path, Reason: err, Advice: "--force puts a new file in its place, and keeps this one beside"}
		}
		c.After = nil
	}
	for i, command := range []string{p.Record, p.Receive} {
		var one, o canonjson.Object
		one.Str("type", "command")
		one.Str("command", command)
		o.Raw("hooks", append(append([]byte{'['}, one.Bytes()...), ']'))
		h := pluginHooks[i]
		ours := func(command string) bool { return strings.Contains(command, h.mark) }
		if err := q.entries(c, driver.JSON, []string{"hooks", h.event}, claim{ours: ours}, []wanted{{entry: o.Bytes(), is: ours}}, "hook "+h.event); err != nil {
			return err
		}
	}
	return nil
}

// A Scaffold is where the files of a plug-in for Codex lie.
type Scaffold struct{ Marketplace, Manifest, Hooks string }

// Trust are the lines that make Codex trust it.
func (s *Scaffold) Trust(dir string) []string {
	return []string{`codex plugin marketplace add "` + dir + `"`, "codex plugin add h2a-drumbeat@h2a-local"}
}

// PlanScaffold plans the files of a plug-in for Codex below a folder.
func (q *Request) PlanScaffold(p *Plugin, dir string) (*Plan, Scaffold) {
	s := Scaffold{
		Marketplace: filepath.Join(dir, ".agents/plugins/marketplace.json"),
		Manifest:    filepath.Join(dir, "plugins/h2a-drumbeat/.codex-plugin/plugin.json"),
		Hooks:       filepath.Join(dir, "plugins/h2a-drumbeat/hooks/hooks.json"),
	}
	plan := &Plan{Driver: p.Driver}
	plan.Err = q.scaffold(p, plan, &s, dir)
	return plan, s
}

const pluginEntry = `{"name":"h2a-drumbeat","source":{"source":"local","path":"./plugins/h2a-drumbeat"},` +
	`"policy":{"installation":"AVAILABLE","authentication":"ON_INSTALL"},"category":"Developer Tools"}`

func (q *Request) scaffold(p *Plugin, plan *Plan, s *Scaffold, dir string) error {
	set := func(c *Change, path []string, value string) error {
		return c.edit("", func(text []byte) ([]byte, error) { return settings.Set(driver.JSON, text, path, []byte(value)) })
	}
	isPlugin := func(entry []byte) bool { return text(entry, "name") == "h2a-drumbeat" }
	for _, f := range []struct {
		path string
		fill func(*Change) error
	}{
		{s.Marketplace, func(c *Change) error {
			for _, v := range [][2]string{{"name", `"h2a-local"`}, {"interface", `{"displayName":"h2a, local"}`}} {
				if err := set(c, v[:1], v[1]); err != nil {
					return err
				}
			}
			return c.edit("", func(text []byte) ([]byte, error) {
				return settings.SetListEntries(driver.JSON, text, []string{"plugins"}, isPlugin, [][]byte{[]byte(pluginEntry)})
			})
		}},
		{s.Manifest, func(c *Change) error {
			about := "records when an agent rests, and takes what another one drives it with"
			for _, v := range [][2]string{{"name", "h2a-drumbeat"}, {"version", "0.1.0"}, {"description", about}, {"hooks", "./hooks/hooks.json"}} {
				if err := set(c, v[:1], fmt.Sprintf("%q", v[1])); err != nil {
					return err
				}
			}
			return nil
		}},
		{s.Hooks, func(c *Change) error { return q.pluginHooks(p, c) }},
	} {
		c, err := readChange(f.path, dir)
		if err != nil {
			return err
		}
		plan.adopt(c)
		if err := f.fill(c); err != nil {
			return err
		}
	}
	return nil
}
