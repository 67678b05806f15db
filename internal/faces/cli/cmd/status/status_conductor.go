package status

import (
	"tutti/internal/app/snapshot"
	"tutti/internal/faces/cli/cmd/agree"
	"tutti/internal/faces/cli/kit"
)

// sayConductor prints who conducts here.
func sayConductor(c *kit.Call, s *snapshot.Conductor) {
	if s == nil {
		return
	}
	text := "no agent conducts the " + kit.Plural(s.Agents, "agent") + ` here: "tutti conductor" says who could`
	if s.Instance != "" {
		how := agree.HowConducts(s.Found)
		text = kit.Name(s.Instance) + " conducts here" + how
		if s.Own {
			text = "you conduct here" + how
		}
		if s.Next > 0 {
			text += ", then " + kit.Plural(s.Next, "other")
		}
	}
	c.Prose(c.Paint(kit.Bold, "lead ")+" ", 6, text)
}
