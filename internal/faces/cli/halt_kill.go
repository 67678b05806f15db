package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"tutti/internal/sessions/agentproc"
)

// killAgents ends the agent CLIs that this switch is for. An agent may set the switch and end nothing.
func (c *Call) killAgents(ctx context.Context, all []agentproc.Agent, unavailable string) ([]endedView, error) {
	if _, err := factsOf(c.App).ForUser("end agents"); err != nil {
		return nil, refuse(hintOf(err), "--kill: %s; the switch is set", Clean(err.Error()))
	}
	if unavailable != "" {
		return nil, failIO(installHint, nil, "--kill: nothing was ended: %s", unavailable)
	}
	var agents []agentproc.Agent
	for _, a := range all {
		if !a.Elsewhere {
			agents = append(agents, a)
		}
	}
	if len(agents) == 0 {
		if !c.json {
			c.line("Nothing to end.")
		}
		return nil, nil
	}
	if err := c.confirmKill(len(agents)); err != nil {
		return nil, err
	}
	ended, err := agentproc.End(ctx, agents, agentproc.Grace)
	if err != nil {
		return nil, err
	}
	var views []endedView
	left := 0
	for i := range ended {
		e := &ended[i]
		v := endedView{CLI: e.CLI, PID: e.Process.PID, Tools: len(e.Tools), Killed: e.Killed}
		for _, p := range e.Left {
			v.Left = append(v.Left, p.PID)
		}
		left += len(v.Left)
		views = append(views, v)
		if !c.json {
			c.line(endedLine(e))
		}
	}
	if left > 0 {
		return views, badState("", "--kill: %d processes still run", left)
	}
	return views, nil
}

// endedLine says what became of an agent.
func endedLine(e *agentproc.Ended) string {
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
	return Clean(text)
}

// confirmKill asks at a terminal, unless --yes was given.
func (c *Call) confirmKill(n int) error {
	if c.on("yes") {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || columns(in) == 0 {
		return refuse("add --yes", "--kill: nothing was ended: there is no terminal to ask at; the switch is set")
	}
	what := "this agent and what its tools run"
	if n > 1 {
		what = "these " + strconv.Itoa(n) + " agents and what their tools run"
	}
	c.out = append(c.out, "End "+what+"? Unsaved work of the tools is lost. [y/N] "...)
	if err := c.flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return refuse("", "--kill: nothing was ended; the switch is set")
	}
	return nil
}
