package full

import (
	"context"
	"io"

	"tutti/internal/app"
	"tutti/internal/sessions/registry"
)

// UpFlags are the flags of "tutti up".
type UpFlags struct{ Registry, Relauncher string }

// MCPFlags are the flags of the MCP server.
type MCPFlags struct {
	Host, Instance, Name, Scope, Tools, Wake       string
	AutoOpen, AutoUpgrade, NoRestart, UpgradeCheck bool
}

// A Service is what a face that serves by itself is given by the one that read the command line: neither knows the other.
type Service struct {
	App     *app.App
	Up      UpFlags
	MCP     MCPFlags
	Args    []string // what stands on the command line beside flags
	In      io.Reader
	Out     io.Writer
	Err     io.Writer // diagnostics, for people
	Version string    // release of the program
	JSON    bool      // Out is read by programs
	Quiet   bool      // nothing is to be said but what is wrong
	Color   bool      // Out is a terminal that may be coloured
	Columns int       // width of Out where it is a terminal, else 0
	// Open opens a registry of agents in tmux; nil where the face has no need of one.
	Open func(path string) (registry.Registry, error)
	// Page serves the web page until ctx ends, and says what happens there; nil: the user does not want it.
	Page func(ctx context.Context, say func(line string)) error
}
