package stop

import (
	"bufio"
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
)

// killAgents ends the agent CLIs that this switch is for. An agent may set the switch and end nothing.
func killAgents(ctx context.Context, c *kit.Call, all []agentproc.Agent, unavailable string) ([]fast.EndedView, error) {
	if _, err := kit.FactsOf(c.App).ForUser("end agents"); err != nil {
		return nil, kit.Refuse(kit.HintOf(err), "--kill: %s; the switch is set", kit.Clean(err.Error()))
	}
	if unavailable != "" {
		return nil, kit.FailIO(kit.InstallHint, nil, "--kill: nothing was ended: %s", unavailable)
	}
	var agents []agentproc.Agent
	for _, a := range all {
		if !a.Elsewhere {
			agents = append(agents, a)
		}
	}
	if len(agents) == 0 {
		if !c.JSON {
			c.Line("Nothing to end.")
		}
		return nil, nil
	}
	if err := confirmKill(c, len(agents)); err != nil {
		return nil, err
	}
	ended, err := agentproc.End(ctx, agents, agentproc.Grace)
	if err != nil {
		return nil, err
	}
	var views []fast.EndedView
	left := 0
	for i := range ended {
		e := &ended[i]
		v := fast.EndedView{CLI: e.CLI, PID: e.Process.PID, Tools: len(e.Tools), Killed: e.Killed}
		for _, p := range e.Left {
			v.Left = append(v.Left, p.PID)
		}
		left += len(v.Left)
		views = append(views, v)
		if !c.JSON {
			c.Line(EndedLine(e))
		}
	}
	if left > 0 {
		return views, kit.BadState("", "--kill: %d processes still run", left)
	}
	return views, nil
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
func confirmKill(c *kit.Call, n int) error {
	if c.On("yes") {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || kit.Columns(in) == 0 {
		return kit.Refuse("add --yes", "--kill: nothing was ended: there is no terminal to ask at; the switch is set")
	}
	what := "this agent and what its tools run"
	if n > 1 {
		what = "these " + strconv.Itoa(n) + " agents and what their tools run"
	}
	c.Out = append(c.Out, "End "+what+"? Unsaved work of the tools is lost. [y/N] "...)
	if err := c.Flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return kit.Refuse("", "--kill: nothing was ended; the switch is set")
	}
	return nil
}
