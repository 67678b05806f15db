package setup

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"tutti/internal/app"
	"tutti/internal/faces/cli/cmd/stop"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
)

// checkLeft names agent CLI and MCP server processes whose session has ended.
func checkLeft(c *kit.Call, r *report) {
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

// checkServers names the MCP servers that go on with another build than this one, because it was installed after they were started.
func checkServers(c *kit.Call, r *report) {
	home, err := c.App.Home()
	full, err2 := kit.FullPath()
	if err != nil || err2 != nil {
		return
	}
	servers, err := agentproc.Servers(home)
	if err != nil {
		return // "processes" has said so
	}
	for i := range servers {
		s := &servers[i]
		if b := filepath.Base(s.Program); b != "tutti-full" && b != formerName || !s.Gone && app.SameFile(s.Program, full) {
			continue
		}
		text := fmt.Sprintf("the server of %s in %s, pid %d, is of another build", cmp.Or(s.Parent, "an agent"), c.App.Shown(s.Dir), s.Process.PID)
		r.tell("servers", text, "end that agent and resume its conversation; a session: tutti session stop NAME, then tutti session resume NAME")
	}
}

// endLeft ends these processes: with --end, or when the user says so at a terminal.
func endLeft(ctx context.Context, c *kit.Call, opt *doctorOptions, r *report) error {
	if len(r.left) == 0 || !opt.End && (c.JSON || !c.UserReads()) {
		return nil
	}
	if _, err := c.ForUser("end processes"); err != nil {
		return err
	}
	question := fmt.Sprintf("End %d processes whose session has ended, and what they run?", len(r.left))
	if err := c.Confirm(opt.Yes, question, "no process was ended", "tutti doctor --end --yes"); err != nil {
		if opt.End {
			return err
		}
		return nil
	}
	ended, err := agentproc.End(ctx, r.left, agentproc.Grace)
	if err != nil {
		return kit.FailIO("", err, "end processes")
	}
	for i := range ended {
		if !c.JSON {
			c.Line(stop.EndedLine(&ended[i]))
		}
	}
	return nil
}
