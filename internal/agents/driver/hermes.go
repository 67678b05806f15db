package driver

// Hermes. Nothing here was tried: what stands here is from its documentation.
var hermes = Driver{
	Name: "hermes", Title: "Hermes", Program: "hermes", Version: []string{"--version"},
	Servers: Servers{
		Files: []File{{Scope: User, Format: YAML, Path: func(p Site) string { return p.home(".hermes", "config.yaml") }}},
		Table: []string{"mcp_servers"}, Entry: entry, Read: readEntry,
	},
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Site) string { return p.home(".hermes", "skills") }},
		{Scope: Project, Path: func(p Site) string { return p.dir(".agents", "skills") }},
	}},
	Life: Life{
		ResumeBy: "--resume", IsID: isWord, Exit: "/quit", Grace: unknownGrace,
		Comms: []string{"hermes", "python", "python3"}, Skips: []string{"--yolo"},
		Choices: []Choice{{Names: []string{"--resume", "-r"}, Value: MustValue}, {Names: []string{"--continue", "-c"}, Value: MayValue}},
	},
}
