package full

import (
	"io"

	"tutti/internal/app"
	"tutti/internal/sessions/registry"
)

// A Service is what a face that serves by itself is given by the one that read the command line: neither knows the other.
type Service struct {
	App     *app.App
	Flag    func(name string) string // value of a flag, "true" for a switch that is on, "" when it was not given
	Args    []string                 // what stands on the command line beside flags
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
}
