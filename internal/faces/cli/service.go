package cli

import (
	"context"

	"tutti/internal/app"
	"tutti/internal/faces/mcp/server"
)

// runMCPServe serves an agent CLI. What goes wrong is exit status 1, as scripts around such a server expect.
func runMCPServe(ctx context.Context, c *Call) error {
	err := server.Serve(ctx, c.service())
	if err != nil && ctx.Err() == nil {
		return &fault{code: exitUsage, err: err, hint: hintOf(err)}
	}
	return err
}

func (c *Call) service() app.Service {
	return app.Service{
		App: c.App, Flag: func(name string) string { return c.flagText(name) }, Args: c.Args, In: c.In, Out: c.outFile, Err: c.errFile, Version: Version,
		JSON: c.json, Quiet: c.quiet, Color: c.color, Columns: c.columns,
	}
}

// flagText is the value of a flag, "true" for a switch that is on, and "" for one that was not given.
func (c *Call) flagText(name string) string {
	if i := c.Verb.flag(c.under, name); i >= 0 && c.Verb.at(i).Kind <= TrueSwitch && c.on(name) {
		return "true"
	}
	return c.value(name)
}

// runMCPTools lists the tools of the MCP server: the names as JSON, or a table for people.
func runMCPTools(_ context.Context, c *Call) error {
	var names list
	var table [][]string
	for _, t := range server.Tools() {
		names.str(t.Name)
		table = append(table, []string{t.Name, firstWords(t.Does)})
	}
	if c.json {
		c.emit(names.bytes())
	} else {
		c.facts(table)
	}
	return nil
}
