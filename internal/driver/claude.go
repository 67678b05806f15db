package driver

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/canonjson"
)

// Claude Code. Both tried versions are common: the older one is what its package manager picks for an older Node.
var claude = Driver{
	Name: "claude", Title: "Claude Code", Program: "claude", Version: []string{"--version"}, Tried: []string{"2.1.197", "2.1.329"},
	Servers: Servers{
		Files: []File{
			{Scope: User, Path: func(p Place) string {
				// The variable moves the file into the folder that it names; without it the file lies beside the folder.
				return p.moved("CLAUDE_CONFIG_DIR", "", ".claude.json")
			}},
			{Scope: Project, Path: func(p Place) string { return p.dir(".mcp.json") }},
		},
		Table: []string{"mcpServers"}, Local: []string{"projects", "", "mcpServers"}, Entry: entry, Read: readEntry, Passes: true,
		Note: "Claude Code asks before it calls a tool of ours, and claude -p refuses to: the rule mcp__h2a under permissions, allow in its " +
			"settings.json lets all of them run.",
	},
	Hooks: Hooks{
		Files: []File{
			{Scope: User, Path: func(p Place) string { return p.moved("CLAUDE_CONFIG_DIR", ".claude", "settings.json") }},
			{Scope: Project, Path: func(p Place) string { return p.dir(".claude", "settings.json") }},
		},
		Table: []string{"hooks"},
		Events: []Event{
			{Name: "SessionStart", Moment: Start, Timeout: 10 * time.Second, Wakes: true},
			{Name: "UserPromptSubmit", Moment: Prompt, Timeout: 10 * time.Second},
			{Name: "PostToolUse", Moment: Tool, Timeout: 10 * time.Second},
			{Name: "Stop", Moment: Stop, Timeout: 10 * time.Second, Wakes: true},
			{Name: "SessionEnd", Moment: End, Timeout: time.Second}, // it is cut off after one and a half, whatever is written
		},
		Unit: time.Second, MaxAgain: 8, Conversation: "CLAUDE_CODE_SESSION_ID", Folder: "CLAUDE_PROJECT_DIR", goOn: block,
		add: func(e Event, text string) Answer {
			switch e.Moment {
			case Start, Prompt, Tool:
				return addContext(e, text)
			}
			return Answer{}
		},
	},
	Skills: Skills{Folders: []Folder{
		{Scope: User, Path: func(p Place) string { return p.moved("CLAUDE_CONFIG_DIR", ".claude", "skills") }},
		{Scope: Project, Path: func(p Place) string { return p.dir(".claude", "skills") }},
	}},
	Talk: Talk{
		Choose:   func(id string) []string { return []string{"--session-id", id} },
		Resume:   func(id string) []string { return []string{"--resume", id} },
		Variable: "CLAUDE_CODE_SESSION_ID",
	},
	Wake: Wake{
		Hooks: true, Channel: "notifications/claude/channel", Capability: "claude/channel", Title: claudeTitle, Prompt: claudePrompt,
		Sheet: func(p Place, pid int) string {
			return p.moved("CLAUDE_CONFIG_DIR", ".claude", "sessions", strconv.Itoa(pid)+".json")
		},
		ReadSheet: claudeSheet,
		Alone: func(env func(string) string) bool {
			how := env("CLAUDE_CODE_ENTRYPOINT")
			return how != "" && how != "cli"
		},
	},
}

// claudeSheet: the status is written within a tenth of a second, also when a turn is broken off, of which no hook tells.
func claudeSheet(raw []byte) (s Sheet, ok bool) {
	var v [4][]byte
	if canonjson.Check(raw) != nil || !canonjson.Pick(raw, []string{"pid", "procStart", "status", "statusUpdatedAt"}, v[:]) {
		return s, false
	}
	pid, ok1 := canonjson.Int(v[0])
	text, _ := canonjson.String(v[1])
	start, err := strconv.ParseUint(text, 10, 64)
	at, ok2 := canonjson.Int(v[3])
	if !ok1 || !ok2 || err != nil || pid <= 0 || at <= 0 {
		return s, false
	}
	s = Sheet{PID: int(pid), Start: start, Since: time.UnixMilli(at)}
	switch status, _ := canonjson.String(v[2]); status {
	case "idle":
		s.Doing = Idle
	case "busy":
		s.Doing = Busy
	case "waiting":
		s.Doing = Asking
	}
	return s, true
}

// claudeTitle: a star before the title is idle, a wheel of Braille dots is busy. It shows no dialog there, and the newer of the
// tried versions shows the star while it works, too.
func claudeTitle(title string) Doing {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(title))
	switch {
	case first == '✳':
		return Idle
	case first >= 0x2800 && first <= 0x28ff:
		return Busy
	}
	return Unknown
}

// claudePrompt: the user types between two lines that go across the screen, with at most a few lines of help below. A dialog
// takes the place of both. Text that it suggests cannot be told from one that was typed.
func claudePrompt(screen string) (typed string, ok bool) {
	const below = 4
	lines := strings.Split(strings.TrimRight(screen, "\n \u00a0"), "\n")
	last := len(lines) - 1
	for last >= 0 && !isRule(lines[last]) {
		if strings.Contains(lines[last], "esc to interrupt") {
			return "", false
		}
		last--
	}
	if last < 2 || len(lines)-1-last > below || !isRule(lines[last-2]) {
		return "", false
	}
	typed, ok = strings.CutPrefix(lines[last-1], "❯")
	return strings.Trim(typed, " \u00a0"), ok
}

// isRule tells whether a line goes across the screen. A word of the program's may stand in it.
func isRule(line string) bool {
	const least = 20
	return strings.HasPrefix(line, "──") && strings.Count(line, "─") >= least
}
