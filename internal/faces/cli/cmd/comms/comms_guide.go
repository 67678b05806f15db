package comms

import (
	"context"
	_ "embed" // the guide is part of the program, so that it is never older than what it describes
	"strings"

	"tutti/internal/faces/cli/kit"
)

//go:embed guide.md
var guide string

// guideJSON is what guide prints with --json.
type guideJSON struct {
	Guide string `json:"guide"`
}

// runCommsGuide prints how an agent works with another project.
func runCommsGuide(_ context.Context, c *kit.Call) error {
	if c.JSON {
		c.Result(guideJSON{guide})
		return nil
	}
	for line := range strings.Lines(guide) {
		c.Line(strings.TrimSuffix(line, "\n"))
	}
	return nil
}
