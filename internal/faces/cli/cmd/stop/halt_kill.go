package stop

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/attention/hookmark"
	"tutti/internal/comms/fleet"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
	"tutti/internal/sessions/observe"
)

// A kill is what is to be ended here, before anything of it was.
type kill struct {
	what string // in words; "": nothing
	end  func() error
}

// endAgents ends what --kill or --tools asks for: here, and then on the other machines that are halted. It asks once.
func endAgents(ctx context.Context, c *kit.Call, opt *fast.HaltOptions, v *fast.HaltView, others fleet.Net) error {
	agents, err := mayEnd(c, opt, v)
	if err != nil {
		return err
	}
	prepare := commandsHere
	if opt.Kill {
		prepare = agentsHere
	}
	here, err := prepare(ctx, c, v, agents)
	if err != nil {
		return err
	}
	what := here.what
	if n := len(others.Hosts); n > 0 {
		if what != "" {
			what += ", and "
		}
		what += "the same on " + kit.Plural(n, "other machine")
	}
	if what == "" {
		if !c.JSON {
			c.Line("Nothing to end.")
		}
		return nil
	}
	if err := confirmKill(c, opt, what); err != nil {
		return err
	}
	if here.what != "" {
		err = here.end()
	}
	if len(others.Hosts) > 0 {
		var far error
		v.Remote, far = killThere(ctx, c, opt, others)
		err = errors.Join(err, far)
	}
	return err
}

// agentsHere are the sessions of this user and the agent CLIs that this switch is for. An agent may set the switch and end nothing.
func agentsHere(ctx context.Context, c *kit.Call, v *fast.HaltView, agents []agentproc.Agent) (kill, error) {
	sessions := session.ToKill(ctx, c)
	if len(agents) == 0 && len(sessions.Names) == 0 {
		return kill{}, errors.Join(sessions.Problems...)
	}
	return kill{ending(agents, sessions.Names) + " and what their tools run", func() error { return killAgents(ctx, c, v, agents, &sessions) }}, nil
}

func killAgents(ctx context.Context, c *kit.Call, v *fast.HaltView, agents []agentproc.Agent, sessions *session.Kill) error {
	// The tools first: some CLIs leave them running. Then the sessions, so that each keeps its conversation.
	plan, err := agentproc.Note(agents)
	if err != nil {
		return err
	}
	killed := byHand(c, agents, sessions)
	v.Sessions = sessions.End(ctx)
	v.Ended = endAll(ctx, c, plan)
	for _, s := range v.Sessions {
		if s.OK {
			killed.Sessions = append(killed.Sessions, agentproc.KilledSession{Registry: s.Registry, Name: s.Name})
		}
	}
	remember(c, killed)
	return errors.Join(append(sessions.Problems, leftOver(c, v))...)
}

// mayEnd are the agents that this switch is for, if this caller may end them.
func mayEnd(c *kit.Call, opt *fast.HaltOptions, v *fast.HaltView) (agents []agentproc.Agent, err error) {
	if _, err := kit.FactsOf(c.App).ForUser("end agents"); err != nil {
		return nil, kit.Refuse(kit.HintOf(err), "%s: %s; the switch is set", opt.EndFlag(), kit.Clean(err.Error()))
	}
	if v.Unavailable != "" {
		return nil, kit.FailIO(kit.InstallHint, nil, "%s: nothing was ended: %s", opt.EndFlag(), v.Unavailable)
	}
	for _, a := range v.Agents {
		if !a.Elsewhere {
			agents = append(agents, a)
		}
	}
	return agents, nil
}

// commandsHere are the commands that agents run.
func commandsHere(ctx context.Context, c *kit.Call, v *fast.HaltView, agents []agentproc.Agent) (kill, error) {
	plan, err := agentproc.NoteCommands(agents)
	if err != nil || plan.Count() == 0 {
		return kill{}, err
	}
	return kill{processes(plan.Count()) + " of the commands that agents run", func() error { return endCommands(ctx, c, v, plan) }}, nil
}

func endCommands(ctx context.Context, c *kit.Call, v *fast.HaltView, plan *agentproc.Plan) error {
	left := 0
	for _, e := range plan.End(ctx, agentproc.Grace) {
		if len(e.Tools) == 0 {
			continue
		}
		one := fast.EndedView{CLI: e.CLI, PID: e.Process.PID, Tools: len(e.Tools), Killed: e.Killed}
		text := "Ended " + processes(len(e.Tools)) + " of a command of " + e.Title + ", pid " + strconv.Itoa(e.Process.PID)
		for _, p := range e.Left {
			one.Left = append(one.Left, p.PID)
			text += "; process " + strconv.Itoa(p.PID) + " still runs"
		}
		left += len(e.Left)
		v.Commands = append(v.Commands, one)
		if !c.JSON {
			c.Line(kit.Clean(text))
		}
	}
	if left > 0 {
		return kit.BadState("", "--tools: %d processes still run", left)
	}
	return nil
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}

// ending names what is to be ended.
func ending(agents []agentproc.Agent, sessions []string) string {
	var all []string
	if n := len(sessions); n > 0 {
		all = append(all, kit.Plural(n, "session")+" ("+kit.Clean(strings.Join(sessions, ", "))+")")
	}
	if n := len(agents); n > 0 {
		all = append(all, kit.Plural(n, "agent"))
	}
	return strings.Join(all, ", ")
}

// byHand are the agents that were started outside of every session, each with the conversation that its hook reported.
func byHand(c *kit.Call, agents []agentproc.Agent, sessions *session.Kill) (k agentproc.Killed) {
	if e, err := halt.Memory(); err == nil {
		k.Halt = e.Count
	}
	var marks []hookmark.Mark
	if state, err := c.App.StateDir(); err == nil {
		marks, _ = hookmark.All(state)
	}
	for i := range agents {
		a := &agents[i]
		if a.Server || sessions.Owns(a.Getenv(observe.Variable)) {
			continue
		}
		one := agentproc.KilledAgent{CLI: a.CLI, Dir: a.Dir, TTY: a.TTY}
		for _, m := range marks {
			if slices.Contains(a.All, m.ID()) && m.Conversation != "" {
				one.Conversation = m.Conversation
			}
		}
		k.Agents = append(k.Agents, one)
	}
	return k
}

func remember(c *kit.Call, k agentproc.Killed) {
	state, err := c.App.StateDir()
	if err == nil {
		err = agentproc.RecordKilled(state, k)
	}
	if err != nil {
		c.Warn("tutti resume --restart will not know what was ended: %s", kit.Clean(err.Error()))
	}
}

// endAll ends what was noted, and says so.
func endAll(ctx context.Context, c *kit.Call, plan *agentproc.Plan) (views []fast.EndedView) {
	ended := plan.End(ctx, agentproc.Grace)
	for i := range ended {
		e := &ended[i]
		one := fast.EndedView{CLI: e.CLI, PID: e.Process.PID, Tools: len(e.Tools), Killed: e.Killed}
		for _, p := range e.Left {
			one.Left = append(one.Left, p.PID)
		}
		views = append(views, one)
		if !c.JSON {
			c.Line(EndedLine(e))
		}
	}
	return views
}

// leftOver names the sessions that could not be ended, and is the error for what still runs.
func leftOver(c *kit.Call, v *fast.HaltView) error {
	left, sessions := 0, 0
	for _, e := range v.Ended {
		left += len(e.Left)
	}
	for _, s := range v.Sessions {
		switch {
		case !s.OK:
			sessions++
			c.Warn("%s", s.Problem)
		case !c.JSON:
			c.Line("Ended session " + kit.Clean(s.Name) + " of " + kit.Clean(c.App.Shown(s.Registry)))
		}
	}
	switch {
	case left > 0:
		return kit.BadState("", "--kill: %d processes still run", left)
	case sessions > 0:
		return kit.BadState("", "--kill: %s not ended", kit.Plural(sessions, "session"))
	}
	return nil
}

// EndedLine says what became of an agent.
func EndedLine(e *agentproc.Ended) string {
	what := e.Title
	if e.Server {
		what += " background server"
	}
	text := "Ended " + what + ", pid " + strconv.Itoa(e.Process.PID)
	if e.TTY != "" {
		text += " on " + e.TTY
	}
	switch len(e.Tools) {
	case 0:
	case 1:
		text += ", and 1 process of its tools"
	default:
		text += ", and " + strconv.Itoa(len(e.Tools)) + " processes of its tools"
	}
	if e.Killed {
		text += " (SIGKILL)"
	}
	if len(e.Left) == 0 && e.Err != nil {
		text = "Not ended: " + strings.TrimPrefix(text, "Ended ") + ": " + e.Err.Error()
	}
	if len(e.Left) > 0 {
		text = "Not ended: " + strings.TrimPrefix(text, "Ended ")
		for _, p := range e.Left {
			text += "; process " + strconv.Itoa(p.PID) + " still runs"
		}
		if e.Err != nil {
			text += ": " + e.Err.Error()
		}
	}
	return kit.Clean(text)
}

// confirmKill asks at a terminal, unless --yes was given.
func confirmKill(c *kit.Call, opt *fast.HaltOptions, what string) error {
	if opt.Yes {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || kit.Columns(in) == 0 {
		return kit.Refuse("add --yes", "%s: nothing was ended; confirm at a terminal or with --yes. The halt is set", opt.EndFlag())
	}
	c.Out = append(c.Out, "End "+what+"? Unsaved work of the tools is lost. [y/N] "...)
	if err := c.Flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return kit.Refuse("", "%s: nothing was ended; the switch is set", opt.EndFlag())
	}
	return nil
}
