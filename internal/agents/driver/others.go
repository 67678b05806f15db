package driver

import (
	"slices"
	"time"
)

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

// unknownGrace is how long a CLI gets whose time to end is unknown.
const unknownGrace = 3 * time.Second

// kinds are the programs that can be run in a terminal, in the order for people.
var kinds = [...]*Driver{&claude, &codex, &gemini, &opencode, &agy, &hermes, &cline, &custom}

// Kinds returns every program that can be run in a terminal; those of [All] and those of the settings are among them.
func Kinds() []*Driver { return append(kinds[:len(kinds):len(kinds)], AddedDrivers()...) }

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
	if slices.ContainsFunc(Programs(), func(a Added) bool { return a.Name == name }) { // else the settings are not read for it
		for _, d := range AddedDrivers() {
			if d.Name == name {
				return d, true
			}
		}
	}
	return nil, false
}

// Agent returns an agent CLI: one of [All], or one of the settings.
func Agent(name string) (*Driver, bool) {
	if d, ok := Get(name); ok {
		return d, true
	}
	d, ok := Kind(name)
	return d, ok && d.Added
}

// Shipped tells whether a name is that of a program which is known without the settings, or of its command.
func Shipped(name string) bool {
	return name == "claude-code" || slices.ContainsFunc(kinds[:], func(d *Driver) bool { return d.Name == name || d.Program == name && name != "" })
}
