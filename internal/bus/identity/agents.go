package identity

import (
	"path"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
)

// A Process is one that a command runs below.
type Process struct {
	ID   proc.ID
	Exe  string   // path of the program
	Comm string   // short name, which the program sets itself
	Args []string // the first few will do; the first one is the name it was called by
}

// Facts are what the caller knows of the command that is run. The functions are asked only when the answer counts.
type Facts struct {
	Env       func(name string) string // "" for what is not set
	Place     func() Workplace
	Login     func() string    // of the user, as the system knows it
	Terminal  func() bool      // there is a controlling terminal
	Ancestors func() []Process // the parent first, then its parent, and so on
	Reclaims  bool             // the command speaks the grammar of existing programs, see Request.Reclaims
	Leader    func() proc.ID   // the process that leads the session of the terminal; zero when unknown
}

// The variables that name a conversation, and those that give one away without naming it. CODEX_HOME and the like are the
// user's own settings and say nothing.
const (
	EnvInstance = "TUTTI_INSTANCE"
	envClaude   = "CLAUDE_CODE_SESSION_ID"
	envCodex    = "CODEX_THREAD_ID"
	envBridge   = "SESSION_ID"
	envBridgeWS = "SESSION_WORKSPACE_ID"
)

var agentEnv = [...]struct{ name, host string }{
	{"CLAUDECODE", "claude"},
	{envClaude, "claude"},
	{"CLAUDE_CODE_ENTRYPOINT", "claude"},
	{envCodex, "codex"},
	{"CODEX_SANDBOX", "codex"},
	{"CODEX_SANDBOX_NETWORK_DISABLED", "codex"},
	{"CODEX_CI", "codex"},
	{"GEMINI_CLI", "gemini"},
	{"GEMINI_SESSION_ID", "gemini"},
	{"OPENCODE", "opencode"},
	{"OPENCODE_PID", "opencode"},
	{"HERMES_KANBAN_TASK", "hermes"},
}

// agents are the agent programs, by the name of their command, which is also their host.
var agents = [...]string{"claude", "codex", "gemini", "agy", "opencode", "hermes"}

// packages are folders in the path of a script whose own name says nothing (cli.js, index.js).
var packages = [...]struct{ folder, host string }{
	{"/@anthropic-ai/claude-code/", "claude"},
	{"/@openai/codex/", "codex"},
	{"/@google/gemini-cli/", "gemini"},
	{"/opencode-ai/", "opencode"},
}

// Agent returns the host if the process is an agent program, "" if it is none. It goes by the name of the program, its own
// short name, or the script that an interpreter runs; a program that hides its name is not found.
func (p Process) Agent() string {
	exe := path.Base(strings.TrimSuffix(p.Exe, " (deleted)"))
	names := []string{exe, p.Comm}
	if len(p.Args) > 0 {
		names = append(names, path.Base(p.Args[0]))
	}
	for _, n := range names {
		if host := agentNamed(n); host != "" {
			return host
		}
	}
	script := ""
	if slices.ContainsFunc(names, interpreter) {
		script = scriptOf(p.Args)
		if host := agentScript(script); host != "" {
			return host
		}
	}
	return addedAgent(names, script)
}

// addedAgent returns the agent CLI of the settings whose process has one of the names, or runs a script: the one that is called so, or
// one of its package.
func addedAgent(names []string, script string) string {
	const maxComm = 15 // bytes of a name that the kernel keeps
	for _, a := range driver.Programs() {
		for _, n := range append(names, path.Base(script)) {
			if n == a.Program || bare(n) == a.Program || len(n) == maxComm && strings.HasPrefix(a.Program, n) {
				return a.Name
			}
		}
		if a.Package == "" {
			continue
		}
		for _, folder := range [...]string{"/node_modules/", "/site-packages/"} {
			if strings.Contains(script, folder+a.Package+"/") {
				return a.Name
			}
		}
	}
	return ""
}

// bare is the name of a command without what packagers put behind it.
func bare(name string) string {
	for _, ending := range [...]string{".js", ".mjs", ".cjs", ".py", ".exe", ".sh"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// agentNamed returns the agent whose command has the name, with what packagers put behind it: codex-x86_64-unknown-linux,
// which the kernel cuts to 15 bytes, gemini-cli, cli.js.
func agentNamed(name string) string {
	name = bare(strings.ToLower(name))
	for _, a := range agents {
		rest, ok := strings.CutPrefix(name, a)
		if !ok {
			continue
		}
		if rest == "" {
			return a
		}
		for _, more := range [...]string{"-x86", "-aarch64", "-arm64", "-linux", "-darwin", "-cli", "_cli", "-code", "-agent"} {
			if strings.HasPrefix(rest, more) {
				return a
			}
		}
	}
	return ""
}

func interpreter(name string) bool {
	for _, i := range [...]string{"node", "bun", "deno", "python", "bash", "sh", "dash", "zsh"} {
		rest, ok := strings.CutPrefix(name, i)
		if ok && strings.Trim(rest, "0123456789.js") == "" { // python3.12, nodejs
			return true
		}
	}
	return false
}

// plain reports whether the process is a shell that a person types into, or what such shells run below. No binding names one
// as an agent (see Request.Process), so none is looked for, and a person's command does not pay for it.
func (p Process) plain() bool {
	exe := path.Base(p.Exe)
	if slices.Contains([]string{"tmux", "screen", "sshd", "sshd-session", "login", "systemd", "init", "sudo", "su"}, exe) {
		return true
	}
	if !slices.Contains([]string{"bash", "zsh", "fish", "sh", "dash", "ksh"}, exe) || len(p.Args) == 0 {
		return false
	}
	for _, a := range p.Args[1:] {
		if a != "-l" && a != "-i" && a != "--login" && a != "-il" && a != "-li" {
			return false // a script or a command line: it may be a user's loop around a model
		}
	}
	return true
}

// scriptOf returns the script that the arguments of an interpreter name: the first that is not a flag.
func scriptOf(args []string) string {
	for n := 1; n < len(args); n++ {
		switch a := args[n]; {
		case a == "-m" && n+1 < len(args): // python -m hermes_cli.main
			first, _, _ := strings.Cut(args[n+1], ".")
			return first
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "-C", "-W", "-X"}, a):
			n++ // its value
		case a == "-c" || a == "-e" || a == "-lc" || a == "--eval":
			return "" // what follows is code
		case strings.HasPrefix(a, "-"):
		default:
			return a
		}
	}
	return ""
}

// agentScript returns the agent whose script it is.
func agentScript(script string) string {
	for _, p := range packages {
		if strings.Contains(script, p.folder) {
			return p.host
		}
	}
	if script == "" {
		return ""
	}
	return agentNamed(path.Base(script))
}

// agent returns the host of the agent program that the command runs below, nearest first, then by the environment; "" when
// there is none.
func (f *Facts) agent() string {
	for _, p := range f.ancestors() {
		if host := p.Agent(); host != "" {
			return host
		}
	}
	for _, e := range agentEnv {
		if f.env(e.name) != "" {
			return e.host
		}
	}
	return ""
}

// AgentProcess returns the nearest agent program that the command runs below, whose process a binding may name.
func (f *Facts) AgentProcess() (p Process, ok bool) {
	for _, p := range f.ancestors() {
		if p.Agent() != "" {
			return p, true
		}
	}
	return Process{}, false
}

// Wrappers are the processes through which the agent program of a host was started, the nearest first: the script of its package, a
// program of its user's around that. They end where a person's shell begins, or another agent. Where the program is not known as
// one of that host, it is among them.
func (f *Facts) Wrappers(host string) (ids []proc.ID) {
	above := f.ancestors()
	inside := false
	if i := slices.IndexFunc(above, func(p Process) bool { return p.Agent() != "" }); i >= 0 && above[i].Agent() == host {
		above, inside = above[i+1:], true
	}
	for _, p := range above {
		is := p.Agent()
		if p.ID.PID <= 1 || p.plain() || is != "" && (is != host || !inside) {
			break
		}
		inside = inside && is != ""
		ids = append(ids, p.ID)
	}
	return ids
}

// maxAncestors ends a chain of parents that makes no sense.
const maxAncestors = 64

func (f *Facts) ancestors() []Process {
	if f.Ancestors == nil {
		return nil
	}
	all := f.Ancestors()
	return all[:min(len(all), maxAncestors)]
}

func (f *Facts) env(name string) string {
	if f.Env == nil {
		return ""
	}
	return f.Env(name)
}

func (f *Facts) place() (p Workplace) {
	if f.Place != nil {
		p = f.Place()
	}
	return p
}

func (f *Facts) login() string {
	if f.Login == nil {
		return ""
	}
	return f.Login()
}
