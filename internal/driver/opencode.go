package driver

import (
	"strings"
	"time"

	"tutti/internal/canonjson"
)

// opencode. It has plug-ins in place of hooks; none was tried. Skills in .claude and .agents it reads, too, and lists one of each
// name.
var opencode = Driver{
	Name: "opencode", Title: "opencode", Program: "opencode", Version: []string{"--version"}, Tried: []string{"1.18.33"},
	Servers: Servers{
		Files: []File{
			{
				Scope: User, Path: func(p Place) string { return p.moved("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json") },
				Others: func(p Place) []string {
					return []string{p.moved("XDG_CONFIG_HOME", ".config", "opencode", "opencode.jsonc")}
				},
			},
			{
				Scope: Project, Path: func(p Place) string { return p.dir("opencode.json") },
				Others: func(p Place) []string { return []string{p.dir("opencode.jsonc")} },
			},
		},
		Table: []string{"mcp"}, Entry: opencodeEntry, Read: readOpencode, Passes: true,
	},
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Place) string { return p.moved("XDG_CONFIG_HOME", ".config", "opencode", "skills") }},
		{Scope: Project, Path: func(p Place) string { return p.dir(".opencode", "skills") }},
	}},
	Talk: Talk{Resume: opencodeResume},
	Life: Life{
		Start: start(nil), Resume: resume(isOpencodeID, opencodeResume), IsID: isOpencodeID, Exit: "/exit", Grace: 3 * time.Second,
		Comms: []string{"opencode", "node"}, Screen: opencodeScreen, Find: opencodeFind, Skips: []string{"--auto"},
		Choices: []Choice{{Names: []string{"--session", "-s"}, Value: MustValue}, {Names: []string{"--continue", "-c"}}, {Names: []string{"--fork"}, Anew: true}},
	},
}

func opencodeResume(id string) []string { return []string{"--session", id} }

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
