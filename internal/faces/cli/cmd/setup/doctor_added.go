package setup

import (
	"cmp"
	"os/exec"
	"slices"

	"tutti/internal/agents/setup"
	"tutti/internal/faces/cli/kit"
)

// checkAdded tells of the agent CLIs that the settings describe. Nothing about them was tried by us.
func checkAdded(c *kit.Call, r *report) {
	all, err := c.App.AddedAgents()
	if err != nil {
		if !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Message == err.Error() }) {
			r.add(false, "settings", err.Error(), kit.HintOf(err))
		}
		return
	}
	for _, d := range all {
		text := d.Title + ", " + d.Name + " in your settings, untested by tutti: "
		if _, err := exec.LookPath(d.Program); err != nil {
			r.tell("hosts", text+d.Program+" is not on the PATH", "install it, or correct agents."+d.Name+".program")
			continue
		}
		text += cmp.Or(kit.Clean(setup.Version(versionWithin, d)), "its version is not known")
		switch {
		case d.Wake.Nudge:
			text += "; its screen is read, and \"tutti up\" types there that mail waits"
		case d.Life.Screen != nil:
			text += "; its screen is read, and nothing wakes it: that needs prompt, busy, and empty or idle"
		default:
			text += "; there are no rules for its screen"
		}
		r.tell("hosts", text, "")
	}
}
