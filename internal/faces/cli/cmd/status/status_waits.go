package status

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tutti/internal/app/snapshot"
	"tutti/internal/faces/cli/kit"
)

const (
	waitingShown = 10              // things that wait, at most
	waitingWide  = 3 * 60          // columns of one of them, at most
	sketchWide   = 80              // columns of the screen where no terminal sets the limit
	waitsHead    = "Waits for you" // heading
)

// sayWaits prints what waits, each with its command: behind it where both fit in a line, else below it.
func sayWaits(c *kit.Call, v *snapshot.View, all []snapshot.Wait, long bool) {
	if len(all) == 0 && v.Blind == nil {
		return
	}
	c.Line("")
	c.Line(c.Paint(kit.Yellow, waitsHead))
	if v.Blind != nil {
		c.Prose("  ", 2, "not known, because it cannot be read: "+kit.Clean(v.Blind.Error()))
	}
	more := len(all) - waitingShown
	if more > 0 && !long {
		all = all[:waitingShown]
	}
	wide, room := 0, cmp.Or(c.Columns, sketchWide)
	for _, w := range all {
		if n := kit.Width(kit.Clean(w.Text)); n+kit.Width(kit.Clean(w.Command))+9 <= room {
			wide = max(wide, n)
		}
	}
	for n, w := range all {
		head := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(all))), n+1)
		text, command := kit.Truncate(kit.Clean(w.Text), waitingWide), kit.Clean(w.Command)
		if pad := wide - kit.Width(text); pad >= 0 && len(head)+wide+3+kit.Width(command) <= room {
			c.Line(head + text + strings.Repeat(" ", pad+3) + command)
			continue
		}
		c.Prose(head, len(head), text)
		c.Line(strings.Repeat(" ", len(head)) + command)
	}
	if more > 0 && !long {
		c.Line("      and " + strconv.Itoa(more) + ` more: "tutti status --long" shows all`)
	}
}
