package drill

import (
	"slices"
	"strings"
)

// A subject is how one agent CLI is brought to loop over a tool, without a screen, an account or a network.
type subject struct {
	tool     string
	args     func(command string) object // of the tool
	settings func(url string) map[string]string
	argv     func(prompt string) []string
	env      func(url string) []string
}

// subjects are the agent CLIs for which there is a drill.
var subjects = map[string]subject{
	"claude": {
		tool: "Bash",
		args: func(command string) object { return object{"command": command, "description": "Tick"} },
		argv: func(prompt string) []string { return []string{"--allowedTools", "Bash", "-p", prompt} },
		env: func(url string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}
		},
	},
	"codex": {
		tool: "exec_command",
		args: func(command string) object { return object{"cmd": command} },
		settings: func(url string) map[string]string {
			return map[string]string{".codex/config.toml": `model = "scripted"
model_provider = "offline"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
[model_providers.offline]
name = "offline"
base_url = "` + url + `/v1"
wire_api = "responses"
env_key = "OFFLINE_KEY"
`}
		},
		argv: func(prompt string) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt}
		},
		env: func(string) []string { return []string{"OFFLINE_KEY=dummy"} },
	},
	"gemini": {
		tool: "run_shell_command",
		args: func(command string) object { return object{"command": command, "description": "Tick"} },
		settings: func(string) map[string]string {
			return map[string]string{".gemini/settings.json": compact(object{
				"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":   object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false},
				"general":   object{"enableAutoUpdate": false},
			})}
		},
		argv: func(prompt string) []string { return []string{"-m", "gemini-2.5-flash", "--yolo", "-p", prompt} },
		env:  func(url string) []string { return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url} },
	},
	"opencode": {
		tool: "bash",
		args: func(command string) object { return object{"command": command, "description": "Tick"} },
		settings: func(url string) map[string]string {
			return map[string]string{".config/opencode/opencode.json": compact(object{
				"autoupdate": false, "share": "disabled", "model": "offline/scripted", "small_model": "offline/scripted",
				"provider": object{"offline": object{
					"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url + "/v1", "apiKey": "dummy"}, "models": object{"scripted": object{}},
				}},
			})}
		},
		argv: func(prompt string) []string { return []string{"run", prompt} },
		env: func(string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
	},
}

// Passed on to the CLI: where its own program and its interpreter are. Nothing that names an account, a proxy or a home folder.
var passed = []string{"PATH", "LANG", "LC_ALL", "NVM_DIR", "NVM_BIN", "ASDF_DATA_DIR", "VOLTA_HOME", "FNM_DIR", "MISE_DATA_DIR", "NODE_EXTRA_CA_CERTS"}

// environment is what the CLI is started with.
func (s *subject) environment(home, url string, getenv func(string) string) []string {
	all := append(s.env(url), "HOME="+home, "TERM=dumb", "DBUS_SESSION_BUS_ADDRESS=disabled:")
	for _, name := range passed {
		if value := getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "LANG=") }) {
		all = append(all, "LANG=C.UTF-8")
	}
	return all
}
