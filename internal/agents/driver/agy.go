package driver

import "time"

// Antigravity's program for the terminal. It is not to be had from a package registry, and nothing here was tried: what stands
// here is from its documentation.
var agy = Driver{
	Name: "agy", Title: "Antigravity", Program: "agy", Version: []string{"--version"},
	Servers: Servers{
		Files: []File{
			{
				Scope: User, Path: func(p Site) string { return p.home(".gemini", "config", "mcp_config.json") },
				Others: func(p Site) []string { return []string{p.home(".gemini", "antigravity-cli", "mcp_config.json")} },
			},
			{Scope: Project, Path: func(p Site) string { return p.dir(".agents", "mcp_config.json") }},
		},
		Table: []string{"mcpServers"}, Entry: entry, Read: readEntry,
		Note: agyNote,
	},
	Skills: Skills{
		Folders: []Folder{
			{Scope: User, Path: func(p Site) string { return p.home(".gemini", "commands") }, Form: Command, Old: true},
			{Scope: Project, Path: func(p Site) string { return p.dir(".gemini", "commands") }, Form: Command, Old: true},
		},
		Note: agyNote,
	},
	// Its screen is not known, so that the line to leave is never typed.
	Life: Life{
		ResumeBy: "--conversation", IsID: isUUID, Exit: "Exit", Grace: 3 * time.Second,
		Comms: []string{"agy"}, Find: agyFind,
		Choices: []Choice{{Names: []string{"--conversation"}, Value: MustValue}, {Names: []string{"--continue", "-c"}}},
	},
}

const agyNote = `run "agy plugin import gemini", then "agy plugin enable tutti"`
