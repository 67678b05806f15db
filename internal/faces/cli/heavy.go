package cli

// RareVerbs are verbs that need nothing of the heavy program, and are called so seldom that the light one, which hooks and agents start
// all day, does without them: the skills, the manual and the reading and writing of packed files are a twentieth of it. Of "install" and
// "doctor" it has all but a part, which it lets tuttid do where that can be had.
func RareVerbs() Heavy {
	return Heavy{
		{Name: "store tidy", Run: runStoreTidy},
		{Name: "store migrate", Run: runStoreMigrate},
		{Name: "install-skills", Run: runInstallSkills},
		{Name: "man", Run: runMan},
		{Name: "install", Run: withComms(runInstall)},
		{Name: "doctor", Run: withComms(runDoctor)},
	}
}
