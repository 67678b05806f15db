package cli

import (
	"context"
	"fmt"

	"tutti/internal/sessions/agentproc"
)

// checkLeft names agent CLI and MCP server processes whose session has ended.
func (c *Call) checkLeft(r *report) {
	home, err := c.App.Home()
	if err != nil {
		return
	}
	r.left, err = agentproc.Left(home)
	if err != nil {
		r.tell("processes", err.Error(), "")
		return
	}
	for i := range r.left {
		a := &r.left[i]
		why := "its agent CLI has ended"
		if a.CLI != "" {
			why = "its terminal was closed"
		}
		r.tell("processes", fmt.Sprintf("%s, pid %d, %d MiB: %s", a.Title, a.Process.PID, agentproc.Memory(a.Process.PID)>>20, why), "tutti doctor --end")
	}
}

// endLeft ends these processes: with --end, or when the user says so at a terminal.
func (c *Call) endLeft(ctx context.Context, r *report) error {
	if len(r.left) == 0 || !c.on("end") && (c.json || !c.userReads()) {
		return nil
	}
	if _, err := c.forUser("end processes"); err != nil {
		return err
	}
	question := fmt.Sprintf("End %d processes whose session has ended, and what they run?", len(r.left))
	if err := c.confirm(question, "no process was ended", "tutti doctor --end --yes"); err != nil {
		if c.on("end") {
			return err
		}
		return nil
	}
	ended, err := agentproc.End(ctx, r.left, agentproc.Grace)
	if err != nil {
		return failIO("", err, "end processes")
	}
	for i := range ended {
		if !c.json {
			c.line(endedLine(&ended[i]))
		}
	}
	return nil
}
