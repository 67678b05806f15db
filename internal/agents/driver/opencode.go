package driver

import (
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// opencode. It has plugins in place of hooks: the one that host setup writes calls ours by the names of the events of Claude Code, and
// reads the answers. opencode 2 does not load plugins of version 1. Skills in .claude and .agents it reads, too, and lists one of each name.
var opencode = Driver{
	Name: "opencode", Title: "opencode", Program: "opencode", Version: []string{"--version"}, Tried: []string{"1.18.33"},
	Servers: Servers{
		Files: opencodeSettings, Table: []string{"mcp"}, Entry: opencodeEntry, Read: readOpencode, Passes: true,
		Grants: Grants{Files: opencodeSettings, Tables: [][]string{{"permission"}, {"tools"}}},
	},
	Hooks: Hooks{
		Module: true, Until: 2,
		Files: []File{
			{Scope: User, Path: func(p Site) string { return p.moved("XDG_CONFIG_HOME", ".config", "opencode", "plugin", "tutti.js") }},
			{Scope: Project, Path: func(p Site) string { return p.dir(".opencode", "plugin", "tutti.js") }},
		},
		Events: []Event{
			{Name: "SessionStart", Moment: Start, Timeout: 10 * time.Second}, // before the first prompt that a process sees of a conversation
			{Name: "UserPromptSubmit", Moment: Prompt, Timeout: 10 * time.Second},
			{Name: "PreToolUse", Moment: Use, Timeout: 10 * time.Second, Edits: []string{"edit", "write", "multiedit"}},
			{Name: "PostToolUse", Moment: Tool, Timeout: 10 * time.Second},
			{Name: "PermissionRequest", Moment: Ask, Timeout: 10 * time.Second, Beside: true},
			{Name: "Stop", Moment: Stop, Timeout: 10 * time.Second, Wakes: true},
			{Name: "SessionEnd", Moment: End, Timeout: 10 * time.Second},
		},
		add: map[Moment]reply{Start: addContext, Prompt: addContext, Use: addContext, Tool: addContext},
		// The plugin aborts the turn at each of them.
		deny: map[Moment]reply{Prompt: block, Use: denyTool, Tool: endTurn, Ask: denyAsked},
	},
	Wake: Wake{Hooks: true},
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Site) string { return p.moved("XDG_CONFIG_HOME", ".config", "opencode", "skills") }},
		{Scope: Project, Path: func(p Site) string { return p.dir(".opencode", "skills") }},
	}},
	Life: Life{
		ResumeBy: "--session", IsID: isOpencodeID, Exit: "/exit", Clear: controlC, Grace: 3 * time.Second,
		Fork:  func(id string) []string { return []string{"--session", id, "--fork"} },
		Comms: []string{"opencode", "node"}, Screen: opencodeScreen, Find: opencodeFind, Skips: []string{"--auto"},
		Choices: []Choice{{Names: []string{"--session", "-s"}, Value: MustValue}, {Names: []string{"--continue", "-c"}}, {Names: []string{"--fork"}, Anew: true}},
	},
}

var opencodeSettings = []File{
	{
		Scope: User, Path: func(p Site) string { return p.moved("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json") },
		Others: func(p Site) []string {
			return []string{p.moved("XDG_CONFIG_HOME", ".config", "opencode", "opencode.jsonc")}
		},
	},
	{
		Scope: Project, Path: func(p Site) string { return p.dir("opencode.json") },
		Others: func(p Site) []string { return []string{p.dir("opencode.jsonc")} },
	},
}

// opencodeEntry: program and arguments are one list.
func opencodeEntry(s Server) []byte {
	var o canonjson.Object
	o.Str("type", "local")
	o.Strs("command", append([]string{s.Command}, s.Args...))
	if len(s.Env) > 0 {
		o.Raw("environment", variables(s.Env))
	}
	o.Bool("enabled", true)
	return o.Bytes()
}

func readOpencode(raw []byte) (Server, bool) {
	var v [3][]byte
	canonjson.Pick(raw, []string{"command", "environment", "type"}, v[:])
	command, ok := canonjson.Strings(v[0])
	if kind, _ := canonjson.String(v[2]); !ok || len(command) == 0 || command[0] == "" || kind != "" && !strings.EqualFold(kind, "local") {
		return Server{}, false
	}
	return Server{Command: command[0], Args: command[1:], Env: readVariables(v[1])}, true
}
