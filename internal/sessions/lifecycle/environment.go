package lifecycle

import (
	"slices"
	"strings"

	"tutti/internal/sessions/observe"
)

// withheld are variables that a program in a session does not get from who starts it: what belongs to the terminal or the shell
// of that one, which repository a hook of git's is in, and what tells of the agent that it is. An agent may start another one, which is
// not itself. A title that is switched off hides from us what Claude Code does.
var withheld = []string{
	"TMUX", "TMUX_PANE", "STY", "WINDOW", "TERM", "TERMCAP", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM", "COLUMNS", "LINES", "WINDOWID",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
	"_", "PWD", "OLDPWD", "SHLVL", "SHELLOPTS", "BASHOPTS",
	"TUTTI_INSTANCE", "TUTTI_SESSION", "TUTTI_WORKSPACE", "TUTTI_BUILD",
	"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
	"CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
	"CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI",
	"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_CWD", "GEMINI_PROJECT_DIR", "OPENCODE", "OPENCODE_PID", "AGENT",
	"HERMES_KANBAN_TASK", "SESSION_ID", "SESSION_WORKSPACE_ID",
}

// passed is the part of its starter's environment that a CLI gets, with the owner of its session and the workspace that it
// belongs to. A tmux server hands on the environment that it was started with, which is another process's.
func passed(environ []string, owner, workspace string) []string {
	kept := make([]string, 0, len(environ)+2)
	for _, v := range environ {
		name, _, ok := strings.Cut(v, "=")
		if ok && name != "" && !slices.Contains(withheld, name) && !strings.HasPrefix(name, "BASH_FUNC_") {
			kept = append(kept, v)
		}
	}
	return append(kept, observe.Variable+"="+owner, observe.HomeVariable+"="+workspace)
}
