package fast

import (
	"context"
	"strconv"

	"tutti/internal/attention/wake"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// runUnpause ends a pause, and says which of the agents that it covered have mail. It wakes none of them.
func runUnpause(ctx context.Context, c *kit.Call) error {
	p, err := kit.EndPause(ctx, c)
	if err != nil || c.JSON || halt.Read().Halted {
		return err
	}
	var waiting []wake.Released
	for _, h := range wake.Release(bells(c), wake.Word{Ask: true}, heldTime) {
		_, was := halt.Covering([]halt.Pause{p}, h.Instance, h.Dir)
		_, still := halt.PausedFor(h.Instance, h.Dir)
		if was && !still && h.Unread > 0 && address.Check(h.Instance) == nil {
			waiting = append(waiting, h)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	text := strconv.Itoa(len(waiting)) + " agents there have unread mail."
	if len(waiting) == 1 {
		text = "1 agent there has unread mail."
	}
	c.Prose("- ", 2, text+` Type a prompt there, or wake it: "tutti resume --session AGENT". New mail wakes it, too.`)
	for _, h := range waiting {
		c.Line("  " + kit.Clean(h.Instance) + "  " + strconv.Itoa(h.Unread) + " unread")
	}
	return nil
}
