package setup

import (
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// jobs offers the jobs of the workspace, the newest first. A fault offers nothing.
func (k *completer) jobs() {
	b, _, err := session.FindJobs(k.c)
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
			k.say(j.ID, kit.Truncate(kit.Clean(string(j.Status)+" "+fast.FirstLine(j.Prompt, "")), maxRemark))
		}
	}
}
