package main

import (
	"tutti/internal/cli"
	"tutti/internal/mcpserver"
)

// heavy are the verbs that only this program has.
func heavy() cli.Heavy {
	return cli.Heavy{
		{Name: "mcp-serve", Run: cli.Service(mcpserver.Serve)},
		{Name: "demo", Run: cli.Service(play)},
		{Name: "mcp-tools", Run: cli.Listing(tools)},
	}
}

// tools are those of the MCP server, as a list shows them.
func tools() []cli.Named {
	var all []cli.Named
	for _, t := range mcpserver.Tools() {
		all = append(all, cli.Named{Name: t.Name, Is: t.Does})
	}
	return all
}
