package stop

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// restart starts again what the last halt with --kill ended. A session that cannot be started stays in the record.
func restart(ctx context.Context, c *kit.Call, v *fast.HaltView) error {
	if s := halt.Read(); s.Halted {
		return s.Err("resume --restart")
	}
	state, err := c.App.StateDir()
	if err != nil {
		return err
	}
	killed, err := agentproc.LastKilled(state)
	if err != nil {
		return kit.FailIO("", err, "--restart: read what was ended")
	}
	if len(killed.Sessions)+len(killed.Agents) == 0 {
		c.Remark("--restart: no halt has ended anything that was not started again")
		return nil
	}
	var left agentproc.Killed
	for _, one := range killed.Sessions {
		view, err := session.Restart(ctx, c, one)
		if err != nil {
			view.Problem = kit.Clean(err.Error())
			c.Warn("%s: not started again: %s", kit.Clean(one.Name), view.Problem)
			if next := kit.HintOf(err); next != "" {
				c.Remark("%s", kit.Clean(next))
			}
			left.Halt, left.Sessions = killed.Halt, append(left.Sessions, one)
		}
		v.Sessions = append(v.Sessions, view)
	}
	for _, one := range killed.Agents {
		v.Typed = append(v.Typed, typed(one))
	}
	sayTyped(c, v.Typed)
	if err := agentproc.WriteKilled(state, left); err != nil {
		return kit.FailIO("", err, "--restart: write what is left")
	}
	if len(left.Sessions) > 0 {
		return kit.BadState("", "--restart: %s not started again", kit.Plural(len(left.Sessions), "session"))
	}
	return nil
}

// typed is what a person types to start an agent again.
func typed(a agentproc.KilledAgent) fast.TypedView {
	v := fast.TypedView{CLI: a.CLI, Dir: a.Dir, TTY: a.TTY}
	if d, ok := driver.Agent(a.CLI); ok && a.Conversation != "" && d.Life.ResumeBy != "" && d.Life.IsID != nil && d.Life.IsID(a.Conversation) {
		v.Line = "cd " + app.QuoteArg(a.Dir) + " && " + d.Program + " " + d.Life.ResumeBy + " " + a.Conversation
	}
	return v
}

func sayTyped(c *kit.Call, all []fast.TypedView) {
	if c.JSON || len(all) == 0 {
		return
	}
	c.Prose("- ", 2, kit.Plural(len(all), "agent")+" started by hand; type in a terminal of yours:")
	for _, one := range all {
		line := one.Line
		if line == "" {
			line = one.CLI + " in " + c.App.Shown(one.Dir) + ": no hook reported its conversation"
		}
		c.Line("    " + kit.Clean(line))
	}
}
