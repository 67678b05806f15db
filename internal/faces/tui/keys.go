package tui

import (
	"fmt"
	"slices"
	"strings"
)

// Keys are the keys of the settings file, table [keys]: for each command a list of keys, which replaces the usual one.
type Keys struct {
	Up       []string `toml:"up"`
	Down     []string `toml:"down"`
	First    []string `toml:"first"`
	Last     []string `toml:"last"`
	PageUp   []string `toml:"page_up"`
	PageDown []string `toml:"page_down"`
	Next     []string `toml:"next"`
	Attach   []string `toml:"attach"`
	View     []string `toml:"view"`
	Group    []string `toml:"group"`
	Filter   []string `toml:"filter"`
	Mark     []string `toml:"mark"`
	Approve  []string `toml:"approve"`
	Deny     []string `toml:"deny"`
	Prompt   []string `toml:"prompt"`
	Send     []string `toml:"send"`
	New      []string `toml:"new"`
	Resume   []string `toml:"resume"`
	Fork     []string `toml:"fork"`
	Stop     []string `toml:"stop"`
	Halt     []string `toml:"halt"`
	Log      []string `toml:"log"`
	Trees    []string `toml:"worktrees"`
	Copy     []string `toml:"copy"`
	Mouse    []string `toml:"mouse"`
	Help     []string `toml:"help"`
	Quit     []string `toml:"quit"`
}

// A command is what a key does.
type command struct {
	name  string // in the settings
	keys  []string
	short string // in the footer
	help  string
	acts  bool // it acts for the user: refused below an agent CLI
	set   *[]string
}

// keymap lists the commands in the order of the help.
type keymap []command

// usual is the key map without settings.
func usual(k *Keys) keymap {
	return keymap{
		{"up", []string{"k", "up"}, "", "select the agent above", false, &k.Up},
		{"down", []string{"j", "down"}, "", "select the agent below", false, &k.Down},
		{"first", []string{"g", "home"}, "", "select the first agent", false, &k.First},
		{"last", []string{"G", "end"}, "", "select the last agent", false, &k.Last},
		{"page_up", []string{"pgup", "ctrl+b"}, "", "go up one page", false, &k.PageUp},
		{"page_down", []string{"pgdown", "ctrl+f"}, "", "go down one page", false, &k.PageDown},
		{"next", []string{"tab"}, "next", "select the next thing that waits for you", false, &k.Next},
		{"attach", []string{"enter"}, "attach", "show the agent's terminal; detach to come back (Ctrl-b d, or Ctrl-b L inside tmux)", false, &k.Attach},
		{"view", []string{"v"}, "view", "on the right: its screen, its mail, or facts", false, &k.View},
		{"group", []string{"o"}, "", "group by folder or by machine", false, &k.Group},
		{"filter", []string{"/"}, "filter", "show only agents with a text in their name, folder or activity; Esc ends it", false, &k.Filter},
		{"mark", []string{"space"}, "", "mark the agent; prompt, send, stop and resume then act on all marked agents", false, &k.Mark},
		{"approve", []string{"a"}, "approve", "approve what the selected thing asks", true, &k.Approve},
		{"deny", []string{"d"}, "deny", "deny what the selected thing asks", true, &k.Deny},
		{"prompt", []string{"p"}, "prompt", "type a prompt into the agent's session", true, &k.Prompt},
		{"send", []string{"s"}, "send", "send the agent a message", true, &k.Send},
		{"new", []string{"n"}, "new", "start an agent: CLI, folder, worktree, prompt", true, &k.New},
		{"resume", []string{"r"}, "resume", "continue the conversation of an ended session", true, &k.Resume},
		{"fork", []string{"f"}, "fork", "start a copy of the agent with a copy of its conversation", true, &k.Fork},
		{"stop", []string{"x"}, "stop", "stop the session; asks first", true, &k.Stop},
		{"halt", []string{"H"}, "halt", "halt all agents; asks for a reason and a typed word", true, &k.Halt},
		{"log", []string{"L"}, "log", "show what your agents said to each other", false, &k.Log},
		{"worktrees", []string{"w"}, "", "worktrees of the agent's repository: diff, merge, rebase, remove", false, &k.Trees},
		{"copy", []string{"y"}, "", "copy the name or address of the agent, or the command of the selected thing", false, &k.Copy},
		{"mouse", []string{"m"}, "", "switch the mouse on or off; hold Shift to select text while it is on", false, &k.Mouse},
		{"help", []string{"?"}, "help", "show the keys", false, &k.Help},
		{"quit", []string{"q", "ctrl+c"}, "quit", "leave; your agents continue", false, &k.Quit},
	}
}

// A KeyError names a setting of [keys] that cannot be used.
type KeyError struct{ Setting, Why string }

func (e *KeyError) Error() string { return "keys." + e.Setting + ": " + e.Why }

// Check returns a *KeyError if the keys cannot be used.
func (k Keys) Check() error {
	_, err := keysOf(k)
	return err
}

// keysOf is the key map with the user's settings. A key that two commands have is an error.
func keysOf(k Keys) (keymap, error) {
	m := usual(&k)
	taken := map[string]string{}
	for i := range m {
		c := &m[i]
		if len(*c.set) == 0 {
			continue
		}
		c.keys = slices.Clone(*c.set)
		for _, key := range c.keys {
			if other, ok := taken[key]; ok {
				return nil, &KeyError{c.name, fmt.Sprintf("%q is already the key of %s", key, other)}
			}
			if len(key) == 1 && key[0] >= '1' && key[0] <= '9' {
				return nil, &KeyError{c.name, "the digits 1 to 9 select what waits for you"}
			}
			taken[key] = c.name
		}
	}
	for i := range m { // a usual key gives way to one of the settings
		c := &m[i]
		if len(*c.set) == 0 {
			c.keys = slices.DeleteFunc(slices.Clone(c.keys), func(key string) bool { _, ok := taken[key]; return ok })
		}
	}
	if q := m.named("quit"); len(q.keys) == 0 {
		q.keys = []string{"ctrl+c"}
	}
	return m, nil
}

// named is the command of that name.
func (m keymap) named(name string) *command {
	i := slices.IndexFunc(m, func(c command) bool { return c.name == name })
	return &m[i]
}

// of is the command that a key has, nil for none.
func (m keymap) of(key string) *command {
	i := slices.IndexFunc(m, func(c command) bool { return slices.Contains(c.keys, key) })
	if i < 0 {
		return nil
	}
	return &m[i]
}

// hint is a command for the footer: its first key and its short name.
func (m keymap) hint(name string) string {
	c := m.named(name)
	if len(c.keys) == 0 {
		return ""
	}
	return c.keys[0] + " " + c.short
}

// short is hint, or where there is little room the key alone.
func (m keymap) short(name string, width int) string {
	h := m.hint(name)
	if width < singleFrom {
		h, _, _ = strings.Cut(h, " ")
	}
	return h
}

// helpLines explain all keys.
func (m keymap) helpLines() (lines []string) {
	for _, c := range m {
		lines = append(lines, fmt.Sprintf("%-14s %s", strings.Join(c.keys, " "), c.help))
	}
	return append(lines, fmt.Sprintf("%-14s %s", "1 … 9", "select the thing that waits under this number, and list its actions"))
}
