package cli

// RareVerbs are verbs that need nothing of the heavy program, and are called so seldom that the light one, which hooks and agents start
// all day, does without them: the skills, the manual and the reading and writing of packed files are a twentieth of it.
func RareVerbs() Heavy {
	return Heavy{
		{Name: "store tidy", Run: runStoreTidy},
		{Name: "install-skills", Run: runInstallSkills},
		{Name: "man", Run: runMan},
	}
}
