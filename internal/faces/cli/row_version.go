package cli

var versionRow = Verb{
	Name: "version", Under: Tutti, Group: GroupSetup, Halt: Indifferent, Rare: true, Run: runVersion,
	Short: "print version and build",
	Does:  "Prints the version and the build. Both programs of one build carry the same one.",
	Examples: `$ tutti version
$ tutti version --json`,
	Exit: "0 done; 1 wrong usage",
	See:  "install",
}
