package driver

import (
	"slices"
	"time"
)

// Codex. Its screen may run on a server of its own in the background, which outlives it and starts the servers; so neither
// their environment nor their parents tell where an agent sits.
var codex = Driver{
	Name: "codex", Title: "Codex", Program: "codex", Version: []string{"--version"}, Tried: []string{"0.169.0"},
	Servers: Servers{
		Files: []File{{Scope: User, Format: TOML, Path: func(p Site) string { return p.moved("CODEX_HOME", ".codex", "config.toml") }}},
		Table: []string{"mcp_servers"}, Entry: entry, Read: readEntry,
	},
	Hooks: Hooks{
		Files: []File{
			{Scope: User, Path: func(p Site) string { return p.moved("CODEX_HOME", ".codex", "hooks.json") }},
			{Scope: Project, Path: func(p Site) string { return p.dir(".codex", "hooks.json") }},
		},
		Table: []string{"hooks"},
		Events: []Event{
			{Name: "SessionStart", Moment: Start, Timeout: 10 * time.Second, Kept: true}, // it comes with the first prompt
			{Name: "UserPromptSubmit", Moment: Prompt, Timeout: 10 * time.Second, Kept: true},
			{Name: "PreToolUse", Moment: Use, Timeout: 10 * time.Second},
			{Name: "PostToolUse", Moment: Tool, Timeout: 10 * time.Second, Kept: true},
			{Name: "PermissionRequest", Moment: Ask, Timeout: 10 * time.Second, Kept: true, Detached: true},
			{Name: "Stop", Moment: Stop, Timeout: 10 * time.Second, Kept: true},
			{Name: "SessionEnd", Moment: End, Timeout: time.Second, Kept: true}, // it warns of more than it gives
		},
		Unit: time.Second,
		Off:  [][]string{{"features", "hooks"}},
		add:  map[Moment]reply{Start: addContext, Prompt: addContext, Tool: addContext},
		// Any other form lets the tool run: continue:false, a member that it does not know, a deny without a reason. No event
		// ends the turn, and write_stdin to a shell that runs reaches no event. At Tool it is for the model of a Codex whose user has
		// not reviewed PreToolUse yet.
		deny: map[Moment]reply{Prompt: block, Use: denyTool, Tool: tell, Ask: denyAsked},
		Note: "Codex asks you once whether you trust new hooks, and does not run them until you do; codex exec skips untrusted hooks without a message.",
	},
	// A skill that is in both folders is listed twice.
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Site) string { return p.home(".agents", "skills") }},
		{Scope: Project, Path: func(p Site) string { return p.dir(".agents", "skills") }},
		{Scope: User, Path: func(p Site) string { return p.moved("CODEX_HOME", ".codex", "skills") }, Old: true},
		{Scope: Project, Path: func(p Site) string { return p.dir(".codex", "skills") }, Old: true},
	}},
	Talk: Talk{
		Meta: func(meta []byte) string {
			if id := member(meta, "threadId"); id != "" {
				return id
			}
			return member(meta, "sessionId")
		},
		Session: func(meta []byte) string {
			if id := member(meta, "sessionId"); id != "" {
				return id
			}
			return member(meta, "threadId")
		},
	},
	Wake: Wake{Home: "CODEX_HOME", Nudge: true, Queue: func(conversation, text string) []string {
		return []string{"queue", "--thread", conversation, "--message", text}
	}},
	// Without the first argument its server stays behind when the screen is gone.
	Life: Life{
		Fixed: []string{"--no-daemon"}, ResumeBy: "resume", IsID: isUUID, Exit: "/quit", Clear: controlC, Grace: 8 * time.Second,
		Fork:  func(id string) []string { return []string{"fork", id} },
		Comms: []string{"codex", "node"}, Screen: codexScreen, Find: codexFind, Serves: codexServes,
		Skips: []string{
			"--dangerously-bypass-approvals-and-sandbox", "--yolo", "--dangerously-bypass-hook-trust", "--ask-for-approval=never", "-a=never",
			"--sandbox=danger-full-access", "-s=danger-full-access", "-c=approval_policy=never", "--config=approval_policy=never",
			"-c=sandbox_mode=danger-full-access", "--config=sandbox_mode=danger-full-access",
		},
		Choices: []Choice{
			{Names: []string{"resume"}, Value: MayValue}, {Names: []string{"fork"}, Value: MayValue, Anew: true}, {Names: []string{"--last", "--all"}},
		},
	},
}

// codexServes: there are two such processes, the server and one that brings it up to date.
func codexServes(argv []string) bool {
	at := slices.Index(argv, "app-server")
	return at > 0 && (slices.Contains(argv[at:], "--managed-daemon") || slices.Contains(argv[at:], "pid-update-loop"))
}
