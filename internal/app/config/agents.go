package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tutti/internal/agents/driver"

	"github.com/pelletier/go-toml/v2"
)

// An agentTable is a table [agents.NAME], which describes an agent CLI that is not shipped.
type agentTable struct {
	Title   string   `toml:"title"`
	Program string   `toml:"program"`
	Package string   `toml:"package"`
	Prompt  []string `toml:"prompt"`
	Empty   string   `toml:"empty"`
	Idle    []string `toml:"idle"`
	Busy    []string `toml:"busy"`
	Asks    []string `toml:"asks"`
	Limited []string `toml:"limited"`
	Exit    string   `toml:"exit"`
	Clear   []string `toml:"clear"`
}

const agentSettings = "title, program, package, prompt, empty, idle, busy, asks, limited, exit, clear"

// Agents are the agent CLIs that the settings describe, by name. With a fault in one there are those of [File.Programs], of which nothing
// is known but their processes, so that a halt reaches them all the same.
func (f *File) Agents() ([]*driver.Driver, error) {
	if !bytes.Contains(f.data, []byte("agents")) {
		return nil, nil
	}
	named := f.Programs()
	all, err := f.agents(named)
	if err == nil {
		return all, nil
	}
	all = nil
	for i := range named {
		all = append(all, named[i].Driver())
	}
	return all, err
}

func (f *File) agents(named []driver.Added) (all []*driver.Driver, err error) {
	var file struct {
		Agents map[string]agentTable `toml:"agents"`
	}
	err = toml.NewDecoder(bytes.NewReader(f.data)).DisallowUnknownFields().Decode(&file)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = f.unknownAgentSetting(missing)
	}
	if err != nil {
		return nil, f.fault(err)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Agents)) {
		t := file.Agents[name]
		a := &driver.Added{
			Name: name, Title: t.Title, Program: t.Program, Package: t.Package, Prompt: t.Prompt, Empty: t.Empty,
			Idle: t.Idle, Busy: t.Busy, Asks: t.Asks, Limited: t.Limited, Exit: t.Exit, Clear: t.Clear,
		}
		if err := f.checkAgent(a); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(named, func(n driver.Added) bool { return n.Name == a.Name && n.Program == a.Program && n.Package == a.Package }) {
			return nil, f.wrongAgent(name, "program", "", "write a line ["+agentsTable+name+"], and below it program = \""+a.Program+"\" and package, each on a line of its own")
		}
		all = append(all, a.Driver())
	}
	return all, nil
}

func (f *File) unknownAgentSetting(missing *toml.StrictMissingError) error {
	for i := range missing.Errors {
		if key := missing.Errors[i].Key(); len(key) > 2 && key[0] == "agents" {
			line, _ := missing.Errors[i].Position()
			return &Error{Path: f.Shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") + "; the table has " + agentSettings}
		}
	}
	return nil
}

func (f *File) wrongAgent(name, setting, value, why string) error {
	return f.Wrong(agentsTable+name, setting, value, why)
}

// maxText is the longest text of a rule, in bytes: a line of a screen.
const maxText = 200

// checkAgent tells what is wrong with a description.
func (f *File) checkAgent(a *driver.Added) error {
	wrong := func(setting, value, why string, args ...any) error {
		return f.wrongAgent(a.Name, setting, value, fmt.Sprintf(why, args...))
	}
	switch {
	case !agentName(a.Name):
		return wrong("program", "", "%.40q is not a name for an agent CLI: write small letters, digits and hyphens, at most %d", a.Name, maxAgentName)
	case driver.Shipped(a.Name):
		return wrong("program", "", "tutti knows %s already; use another name", a.Name)
	case a.Program == "":
		return wrong("program", "", "missing: the name of the agent CLI's command")
	case strings.ContainsAny(a.Program, "/ \t") || len(a.Program) > maxText:
		return wrong("program", a.Program, "%.40q is not the name of a command: write it without its folder and arguments", a.Program)
	case driver.Shipped(a.Program):
		return wrong("program", a.Program, "tutti knows the program %s already", a.Program)
	case notAgent(a.Program):
		return wrong("program", a.Program, "%s is a shell, an interpreter, an editor or a terminal: everything you start in it would count as started by an agent. Name the program of the agent CLI; for one that node or python runs, add package", a.Program)
	case a.Package != "" && (len(a.Package) < 3 || strings.Trim(a.Package, "./") != a.Package || strings.Contains(a.Package, "//")):
		return wrong("package", a.Package, "%.40q is not the folder of a package; write one such as @qwen-code/qwen-code", a.Package)
	case a.Empty != "" && len(a.Prompt) == 0:
		return wrong("empty", "", "needs prompt: what the line begins with where you type")
	}
	for setting, texts := range map[string][]string{
		"title": {a.Title}, "prompt": a.Prompt, "empty": {a.Empty}, "exit": {a.Exit},
		"idle": a.Idle, "busy": a.Busy, "asks": a.Asks, "limited": a.Limited,
	} {
		for _, text := range texts {
			switch {
			case len(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
				return wrong(setting, "", "%.40q must be one line of at most %d bytes", text, maxText)
			case strings.TrimSpace(text) == "" && setting == "prompt":
				return wrong(setting, "", "an empty text would be found on every line")
			case len(strings.TrimSpace(text)) < 3 && slices.Contains([]string{"idle", "busy", "asks", "limited"}, setting):
				return wrong(setting, text, "%q is too short: it would be found on every screen", text)
			}
		}
	}
	for _, key := range a.Clear {
		if !keyName(key) {
			return wrong("clear", key, "%.40q is not a key; write C-u or Escape", key)
		}
	}
	return nil
}

const (
	agentsTable  = "agents."
	maxAgentName = 32
)

// agentName tells whether a name can be the host in addresses.
func agentName(name string) bool {
	return name != "" && len(name) <= maxAgentName && name[0] >= 'a' && name[0] <= 'z' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		name != "human" && name != "remote"
}

// keyName tells whether a word can name a key, as tmux does.
func keyName(key string) bool {
	switch key {
	case "Escape", "BSpace", "DC", "Home", "End":
		return true
	}
	return len(key) == 3 && (key[:2] == "C-" || key[:2] == "M-") && key[2] >= 'a' && key[2] <= 'z'
}

// notAgents are programs in which people work and below which everything of theirs runs: shells, interpreters, editors, terminals.
var notAgents = [...]string{
	"sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh", "elvish", "pwsh", "busybox",
	"node", "nodejs", "bun", "deno", "python", "python2", "python3", "ruby", "perl", "java", "go", "npm", "npx", "uv", "uvx", "pnpm", "yarn",
	"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "zed", "zeditor", "zed-editor", "kiro", "trae", "antigravity", "electron",
	"vim", "vi", "nvim", "emacs", "emacsclient", "nano", "hx", "helix", "kak", "micro", "subl", "sublime_text",
	"idea", "goland", "pycharm", "webstorm", "clion", "rider", "phpstorm", "rubymine", "fleet", "studio",
	"tmux", "screen", "zellij", "sshd", "sshd-session", "ssh", "mosh-server", "login", "systemd", "init", "launchd", "cron", "sudo", "su", "doas",
	"xterm", "kitty", "alacritty", "ghostty", "wezterm", "wezterm-gui", "foot", "konsole", "gnome-terminal", "gnome-terminal-server", "iterm2", "terminal", "warp",
	"git", "make", "tutti", "tutti-full", "docker", "containerd", "containerd-shim",
}

func notAgent(program string) bool {
	return slices.Contains(notAgents[:], strings.ToLower(program))
}

// Programs are the names by which the processes of the described agent CLIs are known. They are found line by line, also in a file with
// a fault elsewhere, because a halt asks for them; [File.Agents] refuses what is not written so.
func (f *File) Programs() (all []driver.Added) {
	if !bytes.Contains(f.data, []byte("["+agentsTable)) {
		return nil
	}
	name := ""
	for line := range strings.Lines(string(f.data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			header, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
			name, _ = strings.CutPrefix(strings.TrimSpace(header), agentsTable)
			if !strings.HasPrefix(strings.TrimSpace(header), agentsTable) || !agentName(name) || driver.Shipped(name) {
				name = ""
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		value = plainString(value)
		if !ok || name == "" || value == "" {
			continue
		}
		at := slices.IndexFunc(all, func(a driver.Added) bool { return a.Name == name })
		switch key = strings.TrimSpace(key); {
		case key != "program" && key != "package":
			continue
		case at < 0:
			all, at = append(all, driver.Added{Name: name}), len(all)
		}
		if key == "program" {
			all[at].Program = value
		} else {
			all[at].Package = value
		}
	}
	return slices.DeleteFunc(all, func(a driver.Added) bool {
		return a.Program == "" || driver.Shipped(a.Program) || notAgent(a.Program) || strings.Contains(a.Program, "/")
	})
}

// plainString is the value of a setting that is one string without escapes, "" for another one.
func plainString(value string) string {
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(value[1:], value[:1])
	if !ok || strings.Contains(value, `\`) {
		return ""
	}
	return value
}
