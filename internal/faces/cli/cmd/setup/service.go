package setup

import (
	"context"

	"tutti/internal/app/full"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/mcp/server"
)

// runMCPServe serves an agent CLI. What goes wrong is exit status 1, as scripts around such a server expect.
func runMCPServe(ctx context.Context, c *kit.Call, opt *full.MCPFlags) error {
	s := service(c)
	s.MCP = *opt
	err := server.Serve(ctx, s)
	if err != nil && ctx.Err() == nil {
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
	}
	return err
}

func service(c *kit.Call) full.Service {
	return full.Service{
		App: c.App, Args: c.Args, In: c.In, Out: c.OutFile, Err: c.ErrFile, Version: kit.Version,
		JSON: c.JSON, Quiet: c.Quiet, Color: c.Color, Columns: c.Columns,
	}
}

// runMCPTools lists the tools of the MCP server: the names as JSON, or a table for people.
func runMCPTools(_ context.Context, c *kit.Call) error {
	var names []string
	var table [][]string
	for _, t := range server.Tools() {
		names = append(names, t.Name)
		table = append(table, []string{t.Name, fast.FirstWords(t.Does)})
	}
	if c.JSON {
		c.Result(names)
	} else {
		c.Facts(table)
	}
	return nil
}
