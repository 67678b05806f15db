package fast

import (
	"cmp"
	"slices"
	"strconv"

	"tutti/internal/attention/hookmark"
	"tutti/internal/attention/wake"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// unconnected are the agent CLI processes that the last halt stopped and for which no server answers: their hooks denied something under
// it, or deny the next tool. there are the agents whose servers answered.
func unconnected(all []hookmark.Mark, there []wake.Released) (alone []hookmark.Mark) {
	epoch := halt.Epoch()
	for _, m := range all {
		answered := slices.ContainsFunc(there, func(h wake.Released) bool {
			return m.Instance != "" && h.Instance == m.Instance || m.Conversation != "" && h.Conversation == m.Conversation
		})
		if !answered && (m.Denies || m.Acked == epoch) {
			alone = append(alone, m)
		}
	}
	slices.SortFunc(alone, func(x, y hookmark.Mark) int { return cmp.Compare(x.PID, y.PID) })
	return alone
}

// sayUnconnected names agents that only a prompt lets go on.
func sayUnconnected(c *kit.Call, alone []hookmark.Mark) {
	if c.JSON || len(alone) == 0 {
		return
	}
	text := strconv.Itoa(len(alone)) + " agents without a connection stay stopped until you tell them to go on"
	if len(alone) == 1 {
		text = "1 agent without a connection stays stopped until you tell it to go on"
	}
	c.Prose("- ", 2, text+".")
	for _, m := range alone {
		line := "  " + cmp.Or(m.Instance, m.CLI)
		if m.Dir != "" {
			line += "  " + c.App.Shown(m.Dir)
		}
		c.Line(kit.Clean(line + "  pid " + strconv.Itoa(m.PID)))
	}
}
