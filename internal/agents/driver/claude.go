package driver

import (
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
)

// Claude Code. Both tried versions are common: the older one is what its package manager picks for an older Node.
var claude = Driver{
	Name: "claude", Title: "Claude Code", Program: "claude", Version: []string{"--version"}, Tried: []string{"2.1.197", "2.1.329", "2.1.330"},
	Servers: Servers{
		Files: []File{
			{Scope: User, Path: func(p Site) string {
				// The variable moves the file into the folder that it names; without it the file is beside the folder.
				return p.moved("CLAUDE_CONFIG_DIR", "", ".claude.json")
			}},
			{Scope: Project, Path: func(p Site) string { return p.dir(".mcp.json") }},
		},
		Table: []string{"mcpServers"}, Local: []string{"projects", "", "mcpServers"}, Entry: entry, Read: readEntry, Passes: true,
		Grants: Grants{
			Files: []File{
				{Scope: User, Path: func(p Site) string { return p.moved("CLAUDE_CONFIG_DIR", ".claude", "settings.json") }},
				{Scope: Project, Path: func(p Site) string { return p.dir(".claude", "settings.json") }},
				{Scope: Local, Path: func(p Site) string { return p.dir(".claude", "settings.local.json") }},
			},
			Lists: [][]string{
				{"permissions", "allow"}, {"permissions", "ask"}, {"permissions", "deny"}, {"enabledMcpjsonServers"}, {"disabledMcpjsonServers"},
			},
			Trust: "mcp__tutti", TrustIn: []string{"permissions", "allow"},
			Folder: [][]string{{"allowedTools"}, {"enabledMcpjsonServers"}, {"disabledMcpjsonServers"}, {"disabledMcpServers"}},
		},
		TrustNote: "The rule mcp__tutti in permissions.allow lets Claude Code call the tools of tutti without asking. --no-trust leaves it out.",
	},
	Hooks: Hooks{
		Files: []File{
			{Scope: User, Path: func(p Site) string { return p.moved("CLAUDE_CONFIG_DIR", ".claude", "settings.json") }},
			{Scope: Project, Path: func(p Site) string { return p.dir(".claude", "settings.json") }},
		},
		Table: []string{"hooks"},
		Events: []Event{
			{Name: "SessionStart", Moment: Start, Timeout: 10 * time.Second, Wakes: true},
			{Name: "UserPromptSubmit", Moment: Prompt, Timeout: 10 * time.Second},
			{Name: "PreToolUse", Moment: Use, Timeout: 10 * time.Second, Matcher: "*", Edits: []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}},
			{Name: "PostToolUse", Moment: Tool, Timeout: 10 * time.Second},
			{Name: "PostToolBatch", Moment: Next, Timeout: 10 * time.Second}, // once for all tools of a step
			// It comes with the question; Notification, some seconds later.
			{Name: "PermissionRequest", Moment: Ask, Timeout: 10 * time.Second, Beside: true},
			{Name: "Stop", Moment: Stop, Timeout: 10 * time.Second, Wakes: true},
			{Name: "SessionEnd", Moment: End, Timeout: time.Second}, // it is cut off after one and a half, whatever is written
		},
		Unit: time.Second, MaxAgain: 8, Conversation: "CLAUDE_CODE_SESSION_ID", Folder: "CLAUDE_PROJECT_DIR",
		Off: [][]string{{"disableAllHooks"}},
		add: map[Moment]reply{Start: addContext, Prompt: addContext, Use: addContext, Tool: addContext},
		// A denied tool alone does not end a turn in 2.1.197, and continue:false at PreToolUse lets the tool run: the turn ends at
		// PostToolBatch, or at PostToolUse where an older release has written the settings. No entry has "onFailure":"block",
		// which 2.1.330 knows: it would turn each fault of ours, a slow machine included, into a blocked tool while nothing is
		// halted. Three events stop the agent one after the other, so that one that fails lets one tool run.
		deny: map[Moment]reply{Prompt: block, Use: denyTool, Tool: endTurn, Next: endTurn, Ask: interruptAsked},
	},
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Site) string { return p.moved("CLAUDE_CONFIG_DIR", ".claude", "skills") }},
		{Scope: Project, Path: func(p Site) string { return p.dir(".claude", "skills") }},
	}},
	Talk: Talk{Variable: "CLAUDE_CODE_SESSION_ID"},
	Wake: Wake{
		Hooks: true, Channel: "notifications/claude/channel", Capability: "claude/channel", Nudge: true,
		Alone: func(env func(string) string) bool {
			how := env("CLAUDE_CODE_ENTRYPOINT")
			return how != "" && how != "cli"
		},
	},
	Life: Life{
		Choose: "--session-id", ResumeBy: "--resume", IsID: isUUID, Exit: "/exit", Clear: escapes, Grace: 3 * time.Second,
		Fork:  func(id string) []string { return []string{"--resume", id, "--fork-session"} },
		Comms: []string{"claude"}, Screen: claudeScreen, Find: claudeFind,
		Skips: []string{"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode=bypassPermissions"},
		Sheet: func(p Site, pid int) string {
			return p.moved("CLAUDE_CONFIG_DIR", ".claude", "sessions", strconv.Itoa(pid)+".json")
		},
		ReadSheet: claudeSheet,
		Choices: []Choice{
			{Names: []string{"--session-id"}, Value: MustValue},
			{Names: []string{"--resume", "-r"}, Value: MayValue},
			{Names: []string{"--continue", "-c"}},
			{Names: []string{"--fork-session"}, Anew: true},
		},
	},
}

// claudeSheet: the status is written within a tenth of a second, also when a turn is broken off, which no hook reports. There
// is no sheet before the questions at its start are answered; for a CLI that does one task without a screen it has no status.
func claudeSheet(raw []byte) (s SelfReport, ok bool) {
	var v [9][]byte
	names := []string{"pid", "procStart", "status", "statusUpdatedAt", "sessionId", "cwd", "waitingFor", "kind", "version"}
	if len(raw) > MaxSheet || canonjson.Check(raw) != nil || !canonjson.Pick(raw, names, v[:]) {
		return s, false
	}
	pid, ok := canonjson.Int(v[0])
	text, _ := canonjson.String(v[1])
	start, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil || pid <= 0 {
		return s, false
	}
	s = SelfReport{PID: int(pid), Start: start, Background: canonjson.Is(v[7], "bg")}
	s.Dir, _ = canonjson.String(v[5])
	if version, _ := canonjson.String(v[8]); len(version) <= maxWord {
		s.Version = version
	}
	if id, _ := canonjson.String(v[4]); isUUID(id) {
		s.Conversation = id
	}
	at, ok := canonjson.Int(v[3])
	if !ok || at <= 0 {
		return s, true
	}
	s.Since = time.UnixMilli(at)
	switch status, _ := canonjson.String(v[2]); status {
	case "idle":
		s.Doing = Idle
	case "busy":
		s.Doing = Busy
	case "waiting":
		s.Doing = Asking
		s.Asks, _ = canonjson.String(v[6])
	}
	return s, true
}
