package agentproc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/platform/proc"
)

// Grace is how long an agent may take to end after SIGTERM. Claude Code took up to 1.3 s, Codex less.
const Grace = 4 * time.Second

// certain is how long a process may take to end after SIGKILL.
const certain = 2 * time.Second

var errAbove = errors.New("this process runs below it")

// An Ended is what became of one agent.
type Ended struct {
	Agent
	Tools  []proc.Process // what its tools ran, noted before anything was signalled
	Left   []proc.Process // what still runs, of the agent and its tools
	Killed bool           // SIGKILL was needed
	Err    error          // why it could not be signalled
}

// A Plan is a kill that has noted which processes it will end, and has not signalled any yet.
type Plan struct {
	out    []Ended
	spared map[int]bool
}

// End ends agents with all that their tools run: SIGTERM, and after grace SIGKILL. It notes the process groups of the tools
// first: several CLIs leave a running tool behind when they end. A tmux server that an agent started, and everything below it, is
// left alone: a person may work there. So is an agent above this process, with everything below it.
func End(ctx context.Context, agents []Agent, grace time.Duration) ([]Ended, error) {
	p, err := Note(agents)
	if err != nil {
		return nil, err
	}
	return p.End(ctx, grace), nil
}

// Note notes agents and what their tools run, for callers that end some of them in another way before they call [Plan.End].
func Note(agents []Agent) (*Plan, error) {
	all, err := proc.List()
	if err != nil {
		return nil, err
	}
	p := &Plan{out: make([]Ended, len(agents)), spared: map[int]bool{os.Getpid(): true}}
	for id := range proc.Ancestors(os.Getpid()) {
		p.spared[id.PID] = true
	}
	for i, a := range agents {
		p.out[i] = Ended{Agent: a}
		if slices.ContainsFunc(a.All, func(id proc.ID) bool { return p.spared[id.PID] }) {
			p.out[i].All, p.out[i].Err = nil, errAbove // what runs below it may be ours
			continue
		}
		p.out[i].Tools = tools(all, a.All, p.spared)
	}
	return p, nil
}

// NoteCommands notes only the commands that agents run, and spares the agents with their MCP servers. Each of the known CLIs starts a
// command as the leader of a new session (setsid); it starts MCP servers and hooks in its own session.
func NoteCommands(agents []Agent) (*Plan, error) {
	p, err := Note(agents)
	if err != nil {
		return nil, err
	}
	all, err := proc.List()
	if err != nil {
		return nil, err
	}
	for i := range p.out {
		e := &p.out[i]
		e.Tools = commands(all, e.All, p.spared)
		e.All = nil // nothing else of it is signalled
	}
	return p, nil
}

// Count is how many processes of tools were noted.
func (p *Plan) Count() (n int) {
	for i := range p.out {
		n += len(p.out[i].Tools)
	}
	return n
}

// commands are the processes that an agent started as leaders of sessions of their own, and what these started.
func commands(all []proc.Process, agent []proc.ID, spared map[int]bool) (found []proc.Process) {
	in := map[int]bool{}
	groups := map[int]bool{}
	for _, first := range all {
		child := slices.ContainsFunc(agent, func(id proc.ID) bool { return id.PID == first.Parent })
		if !child || first.Session != first.PID || spared[first.PID] || tmuxServer(first) || ownProgram(first.PID) {
			continue
		}
		for _, p := range append([]proc.Process{first}, tools(all, []proc.ID{first.ID}, spared)...) {
			if !in[p.PID] {
				in[p.PID], groups[p.Group] = true, p.Group == p.PID || groups[p.Group]
				found = append(found, p)
			}
		}
	}
	return append(found, members(all, groups, in, nil, spared)...)
}

// ownProgram tells whether a process is a server or a hook of tutti: none of them is a command of an agent.
func ownProgram(pid int) bool {
	argv, err := proc.Cmdline(pid)
	return err == nil && len(argv) > 1 && strings.HasPrefix(filepath.Base(argv[0]), "tutti") && (argv[1] == "mcp-serve" || argv[1] == "hook")
}

// End ends what was noted, see [End].
func (p *Plan) End(ctx context.Context, grace time.Duration) []Ended {
	out, spared := p.out, p.spared
	var ids []proc.ID
	for i := range out {
		ids = append(ids, out[i].ids(spared)...)
	}
	for i := range out {
		out[i].signal(syscall.SIGTERM, spared)
	}
	wait(ctx, ids, grace)
	// What was started meanwhile, by an agent that did not end or by its tools, is found by its group or its parent.
	now, err := proc.List()
	for i := range out {
		e := &out[i]
		if err == nil {
			e.Tools = append(e.Tools, e.more(now, spared)...)
		}
		e.Killed = len(alive(e.ids(spared))) > 0
		ids = append(ids, e.ids(spared)...)
		e.signal(syscall.SIGKILL, spared)
	}
	wait(ctx, ids, certain)
	for i := range out {
		for _, id := range alive(out[i].ids(spared)) {
			comm, _ := proc.Comm(id.PID)
			out[i].Left = append(out[i].Left, proc.Process{ID: id, Comm: comm})
		}
	}
	return out
}

func wait(ctx context.Context, ids []proc.ID, long time.Duration) {
	ctx, stop := context.WithTimeout(ctx, long)
	defer stop()
	proc.Gone(ctx, alive(ids))
}

func alive(ids []proc.ID) (left []proc.ID) {
	for _, id := range ids {
		if id.Alive() && !slices.Contains(left, id) {
			left = append(left, id)
		}
	}
	return left
}

// ids are the processes of the agent, then those of its tools.
func (e *Ended) ids(spared map[int]bool) (ids []proc.ID) {
	for _, id := range e.All {
		if !spared[id.PID] {
			ids = append(ids, id)
		}
	}
	for _, p := range e.Tools {
		ids = append(ids, p.ID)
	}
	return ids
}

func (e *Ended) signal(sig syscall.Signal, spared map[int]bool) {
	for _, id := range e.ids(spared) {
		if !id.Alive() {
			continue
		}
		if err := proc.Signal(id, sig); err != nil && !errors.Is(err, proc.ErrGone) {
			e.Err = err
		}
	}
}

// tools are the processes below an agent, and the other members of the groups that these lead.
func tools(all []proc.Process, agent []proc.ID, spared map[int]bool) (found []proc.Process) {
	in := map[int]bool{}
	groups := map[int]bool{}
	for _, id := range agent {
		shunned := map[int]bool{}
		for _, p := range proc.Tree(all, id) {
			if slices.Contains(agent, p.ID) || in[p.PID] {
				continue
			}
			if shunned[p.Parent] || spared[p.PID] || tmuxServer(p) {
				shunned[p.PID] = true
				continue
			}
			in[p.PID] = true
			found = append(found, p)
			if p.Group == p.PID {
				groups[p.Group] = true
			}
		}
	}
	return append(found, members(all, groups, in, agent, spared)...)
}

// members are the processes of groups that are not known yet.
func members(all []proc.Process, groups, in map[int]bool, agent []proc.ID, spared map[int]bool) (found []proc.Process) {
	for _, p := range all {
		if groups[p.Group] && !in[p.PID] && !spared[p.PID] && !slices.Contains(agent, p.ID) {
			in[p.PID] = true
			found = append(found, p)
		}
	}
	return found
}

// more finds what has come since the tools were noted.
func (e *Ended) more(now []proc.Process, spared map[int]bool) (found []proc.Process) {
	in, groups := map[int]bool{}, map[int]bool{}
	for _, p := range e.Tools {
		in[p.PID] = true
		if p.Group == p.PID {
			groups[p.Group] = true
		}
	}
	for _, p := range tools(now, append(slices.Clone(e.All), toolIDs(e.Tools)...), spared) {
		if !in[p.PID] {
			in[p.PID] = true
			found = append(found, p)
		}
	}
	return append(found, members(now, groups, in, e.All, spared)...)
}

func toolIDs(all []proc.Process) (ids []proc.ID) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

// tmuxServer tells whether a process is a server of tmux.
func tmuxServer(p proc.Process) bool { return strings.HasPrefix(p.Comm, "tmux: server") }
