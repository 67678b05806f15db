package driver

import "time"

// Programs that can be run in a terminal, but are not set up: nothing is known of their settings.

// Cline. Nothing here was tried: what stands here is from its documentation.
var cline = Driver{
	Name: "cline", Title: "Cline", Program: "cline", Version: []string{"--version"},
	Life: Life{
		ResumeBy: "--taskId", IsID: isWord, Grace: unknownGrace, Comms: []string{"node", "cline"}, Skips: []string{"--yolo", "-y"},
		Choices: []Choice{{Names: []string{"--taskId"}, Value: MustValue}},
	},
}

// custom is a program of its user's choice. Its first argument is the program.
var custom = Driver{
	Name: "custom", Title: "another program",
	Life: Life{IsID: isWord, Grace: unknownGrace},
}

// unknownGrace is how long a program is given of which nobody knows how long it takes.
const unknownGrace = 3 * time.Second

// kinds are the programs that can be run in a terminal, in the order for people.
var kinds = [...]*Driver{&claude, &codex, &gemini, &opencode, &agy, &hermes, &cline, &custom}

// Kinds returns every program that can be run in a terminal; those of [All] are among them.
func Kinds() []*Driver { return kinds[:] }

// Kind returns such a program by its name. Claude Code has two names in use.
func Kind(name string) (*Driver, bool) {
	if name == "claude-code" {
		name = claude.Name
	}
	for _, d := range kinds {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}
