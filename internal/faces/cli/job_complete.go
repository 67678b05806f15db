package cli

// jobs offers the jobs of the workspace, the newest first. A fault offers nothing.
func (k *completer) jobs() {
	b, _, err := k.c.findJobs()
	if err != nil {
		return
	}
	all, _, err := b.List()
	if err != nil {
		return
	}
	for n := len(all) - 1; n >= 0 && n >= len(all)-maxOffered; n-- {
		j := all[n]
		if k.fits(j.ID) {
			k.say(j.ID, Truncate(Clean(string(j.Status)+" "+firstLine(j.Prompt, "")), maxRemark))
		}
	}
}
