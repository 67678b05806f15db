// Package agentproc finds the agent CLI processes of this user on this machine, and ends them.
//
// It promises:
//
//   - [Find] goes by the processes alone. It finds agent CLIs that tutti never met, and names each once, however many processes
//     a CLI consists of.
//   - A process under another home folder or in another pid namespace is marked as [Agent.Elsewhere]: another halt switch, or
//     none, applies to it.
//   - [End] signals a process only by pid, start and boot, never this process or one above it, and notes what the tools of an agent
//     run before it ends the agent.
//
// What a halt does to an agent is left to package haltreport. Sessions in tmux, with their registry and transcripts, are left to
// package lifecycle.
package agentproc

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/identity"
	"tutti/internal/platform/proc"
)

// An Agent is one agent CLI that runs.
type Agent struct {
	CLI     string // the name of its driver: "claude"
	Title   string // for people: "Claude Code"
	Version string // "" when it cannot be told
	// Process is the one that people see: with a terminal where there is one. All are the processes of the CLI itself, without its
	// tools: a script that starts the program, a program that starts itself again.
	Process proc.ID
	All     []proc.ID
	Dir     string // working directory, "" when it cannot be told
	TTY     string // "pts/3"; "" for none
	// Server: it is the background server of the CLI, which serves all its screens. Served is that server for a screen.
	Server bool
	Served proc.ID
	// Elsewhere: it runs under another home folder or in another pid namespace.
	Elsewhere bool
	Argv      []string
}

// Has tells whether a process is one of those of the agent, its server among them.
func (a *Agent) Has(id proc.ID) bool {
	return slices.Contains(a.All, id) || a.Served.PID > 0 && a.Served == id
}

// Getenv returns a variable of the environment that the agent was started with, "" for none.
func (a *Agent) Getenv(name string) string {
	value, _, _ := proc.Getenv(a.Process.PID, name)
	return value
}

// Find returns the agent CLIs of this user that run, by CLI, then by start. Home is the home folder of this user.
func Find(home string) ([]Agent, error) {
	all, err := proc.List()
	if err != nil {
		return nil, fmt.Errorf("find agent CLI processes: %w", err)
	}
	f := finder{home: home, space: proc.Space(), uid: os.Getuid(), is: map[int]*Agent{}}
	for _, p := range all {
		f.look(p)
	}
	// Parents come before their children here, so that a chain of processes of one CLI becomes one agent.
	slices.SortFunc(f.found, func(x, y *seen) int { return cmp.Or(cmp.Compare(x.p.Start, y.p.Start), cmp.Compare(x.p.PID, y.p.PID)) })
	var agents []*Agent
	for _, s := range f.found {
		if above := f.is[s.p.Parent]; above != nil && above.CLI == s.CLI && above.Server == s.Server && !s.Server {
			above.All = append(above.All, s.p.ID)
			if above.TTY == "" {
				above.TTY = s.TTY
			}
			above.Version = cmp.Or(above.Version, s.Version)
			f.is[s.p.PID] = above
			continue
		}
		f.is[s.p.PID] = &s.Agent
		agents = append(agents, &s.Agent)
	}
	pair(agents)
	out := make([]Agent, len(agents))
	for i, a := range agents {
		out[i] = *a
	}
	slices.SortStableFunc(out, func(x, y Agent) int { return cmp.Compare(x.CLI, y.CLI) })
	return out, nil
}

type finder struct {
	home, space string
	uid         int
	found       []*seen
	is          map[int]*Agent
}

type seen struct {
	Agent
	p proc.Process
}

// look notes a process if it is an agent CLI of this user.
func (f *finder) look(p proc.Process) {
	if p.PID <= 1 || p.PID == os.Getpid() {
		return
	}
	if uid, err := proc.Owner(p.PID); err != nil || uid != f.uid {
		return
	}
	argv, err := proc.Cmdline(p.PID)
	if err != nil || len(argv) == 0 { // a thread of the kernel, or it has just ended
		return
	}
	exe, _ := proc.Exe(p.PID)
	d, ok := driver.Kind(identity.Process{ID: p.ID, Exe: exe, Comm: p.Comm, Args: argv}.Agent())
	if !ok {
		return
	}
	s := &seen{p: p, Agent: Agent{
		CLI: d.Name, Title: d.Title, Process: p.ID, All: []proc.ID{p.ID}, TTY: proc.Terminal(p.TTY), Argv: argv,
		Server: d.Life.Serves != nil && d.Life.Serves(argv),
	}}
	s.Dir, _ = proc.Dir(p.PID)
	s.Version = version(exe, argv)
	if s.Elsewhere = f.elsewhere(p.PID); s.Elsewhere && !p.ID.Alive() {
		return // what has ended has no home
	}
	f.found = append(f.found, s)
}

// elsewhere tells whether another switch applies to a process. One whose environment cannot be read counts as elsewhere: it may
// belong to a container.
func (f *finder) elsewhere(pid int) bool {
	if space, err := proc.SpaceOf(pid); err != nil || space != f.space {
		return true
	}
	home, ok, err := proc.Getenv(pid, "HOME")
	if err != nil {
		return true
	}
	if !ok || !filepath.IsAbs(home) {
		return false // the switch of the user's home folder counts
	}
	return !same(home, f.home)
}

// same tells whether two paths name one folder.
func same(x, y string) bool {
	if filepath.Clean(x) == filepath.Clean(y) {
		return true
	}
	i, err1 := os.Stat(x)
	j, err2 := os.Stat(y)
	return err1 == nil && err2 == nil && os.SameFile(i, j)
}

// pair leaves one process of each background server, and tells the screens which server serves them.
func pair(agents []*Agent) {
	for _, a := range agents {
		if a.Server || a.CLI != "codex" || ownTurns(a.Argv) {
			continue
		}
		for _, s := range agents {
			if s.Server && s.CLI == a.CLI && s.Elsewhere == a.Elsewhere && a.Getenv("CODEX_HOME") == s.Getenv("CODEX_HOME") &&
				a.Getenv("HOME") == s.Getenv("HOME") && !slices.Contains(s.Argv, "pid-update-loop") {
				a.Served = s.Process
			}
		}
	}
}

// ownTurns tells from the arguments of a Codex whether it runs its turns itself, and not in the background server.
func ownTurns(argv []string) bool {
	for _, a := range argv[1:] {
		flag, _, _ := strings.Cut(a, "=")
		switch flag {
		case "--no-daemon", "-c", "--config", "--dangerously-bypass-hook-trust", "exec", "e", "app-server", "mcp-server":
			return true
		}
	}
	return false
}

// Updater tells whether it is a process that only keeps a background server up to date: it runs no agent.
func (a *Agent) Updater() bool { return a.Server && slices.Contains(a.Argv, "pid-update-loop") }
