package identity

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/agents/driver"
)

// envManaged is set in every pane of a tmux session that we started.
const envManaged = "TUTTI_SESSION"

// A Caller describes the processes of a command that may act for the user.
type Caller struct {
	Chain    []string // "bash (pid 100)", the parent first
	Terminal bool     // an interactive shell leads its terminal
}

// A NotUserError refuses a command that acts for the user because it runs below an agent CLI.
type NotUserError struct {
	Host     string // of the agent CLI
	PID      int    // of its process; 0 when only a variable gives it away
	Variable string // that gives it away; "" when a process does
	Action   string // what only the user does: "lift a halt"
}

func (e *NotUserError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("refused: %s is set and no shell of yours leads this terminal, so this may be %s: only you can %s", e.Variable, e.Host, e.Action)
	}
	return fmt.Sprintf("refused below %s (pid %d): only you can %s", e.Host, e.PID, e.Action)
}

// Hint says where the user can do it.
func (e *NotUserError) Hint() string {
	if cli := title(e.Host); cli != "" {
		return "type it in a terminal outside " + cli
	}
	return "type it in a terminal of your own"
}

func title(host string) string {
	switch host {
	case "claude":
		return "Claude"
	case "codex":
		return "Codex"
	case "gemini":
		return "Gemini"
	case "agy":
		return "Antigravity"
	case "an agent":
		return ""
	}
	if d, ok := driver.Kind(host); ok {
		return d.Title
	}
	return host
}

// ForUser tells whether the command may act for the user; the error is a *NotUserError. Processes decide: a command below an
// agent CLI may not. A variable alone refuses only where no interactive shell leads the terminal of the command. Every other
// caller may: a shell, ssh, cron, a container. A process that detached itself and cleaned its environment cannot be told from
// a script of the user, so callers record the Caller and announce what it did.
func (f *Facts) ForUser(action string) (*Caller, error) {
	above := f.ancestors()
	led := f.led(above)
	c := &Caller{Terminal: led}
	server := false // a terminal multiplexer is between the command and the process
	for _, p := range above {
		host := p.Agent()
		if host == "" {
			host = p.otherAgent()
		}
		if host != "" && !(server && led) {
			return nil, &NotUserError{Host: host, PID: p.ID.PID, Action: action}
		}
		server = server || p.multiplexer()
		c.Chain = append(c.Chain, p.name()+" (pid "+strconv.Itoa(p.ID.PID)+")")
	}
	if led {
		return c, nil
	}
	for _, e := range agentEnv {
		if f.env(e.name) != "" {
			return nil, &NotUserError{Host: e.host, Variable: e.name, Action: action}
		}
	}
	if f.env(envManaged) != "" {
		return nil, &NotUserError{Host: "an agent", Variable: envManaged, Action: action}
	}
	return c, nil
}

// otherAgents are agent CLIs that tutti does not connect. They must not act for the user either.
var otherAgents = [...]string{
	"aider", "amp", "auggie", "cline", "copilot", "crush", "cursor-agent", "droid", "goose", "kimi", "kiro-cli", "q", "qwen",
}

// otherAgent returns the name of such an agent CLI if the process is one. Scripts that an interpreter runs count by their own name.
func (p *Process) otherAgent() string {
	names := []string{p.name()}
	if len(p.Args) > 1 && interpreter(p.name()) && !strings.HasPrefix(p.Args[1], "-") {
		names = append(names, strings.TrimSuffix(path.Base(p.Args[1]), ".js"))
	}
	for _, n := range names {
		if slices.Contains(otherAgents[:], strings.ToLower(n)) {
			return n
		}
	}
	return ""
}

// led tells whether an interactive shell leads the terminal of the command and is one of the processes above it. Programs that run a
// shell as another user may lead the terminal in its place.
func (f *Facts) led(above []Process) bool {
	if f.Leader == nil || f.Terminal == nil || !f.Terminal() {
		return false
	}
	leader := f.Leader()
	i := slices.IndexFunc(above, func(p Process) bool { return p.ID == leader })
	if i < 0 || !above[i].interactive() && !slices.Contains([]string{"sudo", "su", "doas"}, above[i].name()) {
		return false
	}
	return slices.ContainsFunc(above[:i+1], func(p Process) bool { return p.interactive() })
}

func (p *Process) name() string {
	if p.Exe != "" {
		return path.Base(strings.TrimSuffix(p.Exe, " (deleted)"))
	}
	return p.Comm
}

func (p *Process) multiplexer() bool {
	return slices.Contains([]string{"tmux", "screen", "zellij"}, strings.ToLower(p.name()))
}

// shells are the shells that people type into.
var shells = [...]string{"bash", "zsh", "fish", "sh", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh", "elvish", "pwsh", "busybox"}

// interactive tells whether the process is a shell that was started without a script and without a command.
func (p *Process) interactive() bool {
	if !slices.Contains(shells[:], p.name()) {
		return false
	}
	for n := 1; n < len(p.Args); n++ {
		switch a := p.Args[n]; {
		case slices.Contains([]string{"--init-file", "--rcfile", "--init-command", "-C", "-o", "-O", "+o", "+O", "-NoExit"}, a):
			n++ // its value
		case strings.HasPrefix(a, "--command"):
			return false
		case strings.HasPrefix(a, "--"), strings.HasPrefix(a, "+"):
		case strings.HasPrefix(a, "-"):
			if strings.Contains(a, "c") {
				return false
			}
		case p.name() == "busybox" && n == 1 && slices.Contains(shells[:], a):
		default:
			return false
		}
	}
	return true
}
