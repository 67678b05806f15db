package identity

import (
	"errors"
	"testing"

	"tutti/internal/platform/proc"
)

// at is a command with the given processes above it, whose terminal, if it has one, the process with the pid leader leads.
func at(leader int, tty bool, env map[string]string, above ...Process) *Facts {
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

// TestForUser: processes decide who may act for the user; variables count only where no interactive shell leads the terminal.
func TestForUser(t *testing.T) {
	t.Parallel()
	shell := process(100, "/bin/bash", "-bash")
	code := process(90, "/usr/bin/node", "node", "/usr/share/code/code")
	vscode := process(101, "/bin/bash", "/bin/bash", "--init-file", "/usr/share/code/shellIntegration-bash.sh")
	claude := process(80, "/usr/bin/claude", "claude")
	script := process(102, "/bin/bash", "bash", "-c", "tutti resume")
	server := process(70, "/usr/bin/tmux", "tmux: server", "tmux", "-D")
	sshd := process(60, "/usr/sbin/sshd", "sshd")
	sudo := process(104, "/usr/bin/sudo", "sudo", "-s")
	cron := process(61, "/usr/sbin/cron", "cron")
	below := map[string]string{"CLAUDECODE": "1"}
	managed := map[string]string{"TUTTI_SESSION": "s1"}
	for _, tt := range []struct {
		name     string
		f        *Facts
		pid      int
		variable string
		terminal bool // what is recorded of a lift
	}{
		{name: "a shell in a terminal", f: at(100, true, nil, shell), terminal: true},
		{name: "a shell in the terminal of VS Code, started by an agent", f: at(101, true, below, vscode, code), terminal: true},
		{name: "a second pane of a managed session", f: at(100, true, managed, shell, server), terminal: true},
		{name: "a shell in a tmux server that an agent started and left", f: at(100, true, below, shell, server), terminal: true},
		{name: "a shell in a tmux server that is a child of an agent", f: at(100, true, below, shell, server, claude), terminal: true},
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
		{name: "sudo with a terminal of its own", f: at(104, true, nil, process(105, "/bin/bash", "bash"), sudo, shell), terminal: true},
		{name: "tmux new-window 'tutti resume'", f: at(102, true, nil, script, server)},
		{name: "script -c 'tutti resume', detached", f: at(102, true, nil, script, process(106, "/usr/bin/script", "script", "-qec", "tutti resume"))},
		{name: "a pseudo terminal that the command leads itself", f: at(1, true, nil, process(107, "/usr/bin/python3", "python3", "x.py"))},
		{name: "an agent CLI that tutti does not connect", f: at(100, true, nil, process(108, "/usr/bin/cursor-agent", "cursor-agent"), shell), pid: 108},
		{name: "one that node runs", f: at(100, true, nil, process(109, "/usr/bin/node", "node", "/usr/lib/node_modules/.bin/qwen"), shell), pid: 109},
		{name: "tmux -D new-session 'tutti resume' below an agent", f: at(102, true, nil, script, server, claude), pid: 80},
	} {
		c, err := tt.f.ForUser("lift a halt")
		refused, is := errors.AsType[*NotUserError](err)
		switch {
		case tt.pid == 0 && tt.variable == "":
			if err != nil || c.Terminal != tt.terminal {
				t.Errorf("%s: %+v, %v, want it allowed, at a terminal: %t", tt.name, c, err, tt.terminal)
			}
		case !is || refused.PID != tt.pid || refused.Variable != tt.variable:
			t.Errorf("%s: %v, want it refused for process %d, variable %q", tt.name, err, tt.pid, tt.variable)
		}
	}
}
