package setup

import (
	"os/exec"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/drill"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
)

// drillFinding is the name of what checkDrills finds.
const drillFinding = "drill"

// checkDrills tells when a halt was last proved for each installed agent CLI, and asks for a new drill where its version has changed since.
func checkDrills(c *kit.Call, r *report) {
	state, err := c.App.StateDir()
	if err != nil {
		return
	}
	last := drill.Last(state)
	const again = "tutti halt --drill"
	for _, d := range driver.All() {
		path, err := exec.LookPath(d.Program)
		if err != nil || !drill.Has(d.Name) {
			continue
		}
		one, ok := last[d.Name]
		if !ok {
			r.tell(drillFinding, "not proved that a halt stops "+d.Title, again)
			continue
		}
		ago := kit.Ago(time.Since(one.At))
		switch version := agentproc.VersionAt(path); {
		case version != "" && one.Version != version:
			r.tell(drillFinding, d.Title+" is "+version+"; the last drill, "+ago+", was of "+strings.TrimSpace(d.Name+" "+one.Version), again)
		case one.State == drill.NotStopped:
			r.tell(drillFinding, one.Line()+" ("+ago+")", again)
		default:
			r.tell(drillFinding, one.Line()+" ("+ago+")", "")
		}
	}
}
