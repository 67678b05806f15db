package identity

import (
	"errors"
	"testing"

	"tutti/internal/platform/proc"
)

// TestForUser: processes decide who may act for the user; variables count only where no interactive shell leads the terminal.
func TestForUser(t *testing.T) {
	t.Parallel()
	at := func(leader int, tty bool, env map[string]string, above ...Process) *Facts {
		return &Facts{
			Env:       func(n string) string { return env[n] },
			Terminal:  func() bool { return tty },
			Ancestors: func() []Process { return above },
			Leader: func() proc.ID {
				for _, p := range above {
					if p.ID.PID == leader {
						return p.ID
					}
				}
				return proc.ID{PID: leader}
			},
		}
	}
	shell := process(100, "/bin/bash", "-bash")
	code := process(90, "/usr/bin/node", "node", "/usr/share/code/code")
	vscode := process(101, "/bin/bash", "/bin/bash", "--init-file", "/usr/share/code/shellIntegration-bash.sh")
	claude := process(80, "/usr/bin/claude", "claude")
	script := process(102, "/bin/bash", "bash", "-c", "tutti resume")
	server := process(70, "/usr/bin/tmux", "tmux: server", "tmux", "-D")
	sshd := process(60, "/usr/sbin/sshd", "sshd")
	cron := process(61, "/usr/sbin/cron", "cron")
	below := map[string]string{"CLAUDECODE": "1"}
	managed := map[string]string{"TUTTI_SESSION": "s1"}
	for _, tt := range []struct {
		name     string
		f        *Facts
		pid      int
		variable string
	}{
		{name: "a shell in a terminal", f: at(100, true, nil, shell)},
		{name: "a shell in the terminal of VS Code, started by an agent", f: at(101, true, below, vscode, code)},
		{name: "a second pane of a managed session", f: at(100, true, managed, shell, server)},
		{name: "a shell in a tmux server that an agent started and left", f: at(100, true, below, shell, server)},
		{name: "a shell in a tmux server that is a child of an agent", f: at(100, true, below, shell, server, claude)},
		{name: "ssh machine tutti resume", f: at(0, false, nil, script, sshd)},
		{name: "cron", f: at(0, false, nil, script, cron)},
		{name: "a container", f: at(0, false, nil)},
		{name: "detached, with a clean environment", f: at(0, false, nil)},
		{name: "the command of an agent", f: at(100, true, below, script, claude, shell), pid: 80},
		{name: "with a clean environment", f: at(100, true, nil, script, claude, shell), pid: 80},
		{name: "!tutti resume in the prompt", f: at(100, true, below, claude, shell), pid: 80},
		{name: "a pseudo terminal of an agent", f: at(103, true, nil, process(103, "/bin/bash", "bash", "-i"), claude), pid: 80},
		{name: "setsid -f", f: at(0, false, below), variable: "CLAUDECODE"},
		{name: "orphaned in the terminal of the user", f: at(100, true, below), variable: "CLAUDECODE"},
		{name: "a shell with a command leads the terminal", f: at(102, true, below, script), variable: "CLAUDECODE"},
		{name: "detached from a managed session", f: at(0, false, managed), variable: "TUTTI_SESSION"},
		{name: "tmux -D new-session 'tutti resume' below an agent", f: at(102, true, nil, script, server, claude), pid: 80},
	} {
		_, err := tt.f.ForUser("lift a halt")
		refused, is := errors.AsType[*NotUserError](err)
		switch {
		case tt.pid == 0 && tt.variable == "":
			if err != nil {
				t.Errorf("%s: %v, want it allowed", tt.name, err)
			}
		case !is || refused.PID != tt.pid || refused.Variable != tt.variable:
			t.Errorf("%s: %v, want it refused for process %d, variable %q", tt.name, err, tt.pid, tt.variable)
		}
	}
}
