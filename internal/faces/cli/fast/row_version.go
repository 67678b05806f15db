package fast

import (
	"tutti/internal/faces/cli/kit"
)

var VersionRow = kit.Verb{
	Name: "version", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Indifferent, Run: kit.RunVersion,
	Result: kit.ProgramVersion{},
	Short:  "print version and build",
	Does:   "Prints the version and the build. Both programs of one build carry the same one.",
	Examples: `$ tutti version
$ tutti version --json`,
	Exit: "0 done; 1 wrong usage",
	See:  "install",
}
