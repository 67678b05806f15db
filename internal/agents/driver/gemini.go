package driver

import (
	"time"

	"tutti/internal/core/canonjson"
)

// Gemini CLI.
var gemini = Driver{
	Name: "gemini", Title: "Gemini CLI", Program: "gemini", Version: []string{"--version"}, Tried: []string{"0.61.0"},
	Servers: Servers{
		Files: geminiSettings, Table: []string{"mcpServers"}, Read: readEntry, Passes: true,
		Grants: Grants{
			Files: geminiSettings,
			Lists: [][]string{{"mcp", "allowed"}, {"mcp", "excluded"}, {"tools", "allowed"}, {"tools", "exclude"}, {"tools", "core"}},
		},
		Entry: func(s Server) []byte {
			var o canonjson.Object
			writeEntry(&o, s)
			if !s.NoTrust {
				o.Bool("trust", true) // without it a run without a terminal does not offer its tools at all
			}
			return o.Bytes()
		},
		TrustNote: `A new entry says "trust": true, so Gemini calls the tools of tutti without asking. --no-trust leaves that out.`,
		Note:      `Gemini starts no server in a folder that you have not told it to trust.`,
	},
	Hooks: Hooks{
		Files: geminiSettings, Table: []string{"hooks"}, Name: true,
		Events: []Event{
			{Name: "SessionStart", Moment: Start, Timeout: 10 * time.Second},
			{Name: "BeforeAgent", Moment: Prompt, Timeout: 10 * time.Second},
			{Name: "BeforeModel", Moment: Next, Timeout: 10 * time.Second},
			{Name: "BeforeTool", Moment: Use, Timeout: 10 * time.Second, Matcher: "*", Edits: geminiEdits},
			{Name: "AfterTool", Moment: Tool, Timeout: 10 * time.Second, Edits: geminiEdits},
			{Name: "Notification", Moment: Ask, Timeout: 10 * time.Second},
			{Name: "AfterAgent", Moment: Stop, Timeout: 10 * time.Second},
			{Name: "SessionEnd", Moment: End, Timeout: time.Second}, // it comes up to three times
		},
		Unit: time.Millisecond, Conversation: "GEMINI_SESSION_ID", Folder: "GEMINI_PROJECT_DIR",
		Off: [][]string{{"hooksConfig", "enabled"}},
		// It adds the text to the history, and then replaces that by the history it resumes, or drops it.
		Drops: []string{"resume", "clear"},
		add:   map[Moment]reply{Start: addContext, Prompt: addContext, Use: geminiUse, Tool: addContext},
		// BeforeModel ends the turn and leaves the history whole. continue:false at BeforeTool or AfterTool would leave a call
		// without its result in it. At Tool it is for the model of a Gemini that has read its settings before BeforeModel was
		// among them.
		deny: map[Moment]reply{Prompt: deny, Use: deny, Tool: tell, Next: endTurn},
		Note: "Gemini runs hooks of a project only in a folder that you have told it to trust.",
	},
	// It reads .gemini/skills, too. A skill of one name in both is complained of at each start, and the one in .agents wins.
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Site) string { return p.home(".agents", "skills") }},
		{Scope: Project, Path: func(p Site) string { return p.dir(".agents", "skills") }},
		{Scope: User, Path: func(p Site) string { return p.home(".gemini", "commands") }, Form: Command, Old: true},
		{Scope: Project, Path: func(p Site) string { return p.dir(".gemini", "commands") }, Form: Command, Old: true},
	}},
	Life: Life{
		Choose: "--session-id", ResumeBy: "--resume", IsID: isUUID, Exit: "/quit", Clear: escapes, Grace: 3 * time.Second,
		Comms: []string{"node", "gemini"}, Screen: geminiScreen, Find: geminiFind,
		Skips:   []string{"--yolo", "-y", "--approval-mode=yolo", "--skip-trust"},
		Choices: []Choice{{Names: []string{"--session-id"}, Value: MustValue}, {Names: []string{"--resume", "-r"}, Value: MayValue}},
	},
}

var geminiEdits = []string{"write_file", "replace", "edit"}

// geminiUse is for its user: its model does not read it, so the word about an edit is repeated after the tool.
func geminiUse(e Event, text string) Answer {
	a := addContext(e, text)
	a.Out = append(canonjson.Set(a.Out, "systemMessage", canonjson.AppendString(nil, text)), '\n')
	return a
}

func deny(_ Event, why string) Answer {
	var o canonjson.Object
	o.Str("decision", "deny")
	o.Str("reason", why)
	return Answer{Out: append(o.Bytes(), '\n')}
}

var geminiSettings = []File{
	{Scope: User, Path: func(p Site) string { return p.home(".gemini", "settings.json") }},
	{Scope: Project, Path: func(p Site) string { return p.dir(".gemini", "settings.json") }},
}
