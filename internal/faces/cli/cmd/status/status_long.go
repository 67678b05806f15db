package status

import (
	"fmt"
	"strings"
	"time"

	"tutti/internal/app/snapshot"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// sayDetails prints what --long adds below the table: the bus of this folder, who you are there, who conducts, your newest mail, the
// mail between projects, and what looks after the bus.
func sayDetails(c *kit.Call, v *snapshot.View) {
	c.Line("")
	bus := c.App.Shown(v.Root.Path) + " (" + v.Root.Source.Why() + ")"
	if !v.Exists {
		bus = "none at " + bus
	}
	c.Prose(c.Paint(kit.Bold, "bus  ")+" ", 6, kit.Clean(bus))
	if v.Exists {
		sayYou(c, v)
		sayConductor(c, v.Conductor)
		sayMail(c, v)
	}
	sayLetters(c, v.Letters)
	if v.Exists {
		c.Prose(c.Paint(kit.Bold, "up   ")+" ", 6, UpText(v.Up))
	}
}

func sayYou(c *kit.Call, v *snapshot.View) {
	text := ""
	switch {
	case v.You == nil:
		text = "unknown: " + kit.Clean(identity.Why(v.WhoErr))
	default:
		text = kit.Clean(string(v.You.Instance)+" ("+v.You.How+")") + v.Denies(v.You.Instance, v.Folder).Words()
	}
	c.Prose(c.Paint(kit.Bold, "you  ")+" ", 6, text)
}

func sayMail(c *kit.Call, v *snapshot.View) {
	if v.You == nil {
		return
	}
	text := "nothing unread"
	if v.Unread > 0 {
		text = fmt.Sprintf("%d unread", v.Unread)
	}
	if v.More {
		text = fmt.Sprintf("%d or more unread; tutti inbox lists the newest", v.Unread)
	}
	if v.Bad > 0 {
		text += "; " + kit.Plural(v.Bad, "file") + " that cannot be read as a message"
	}
	c.Line(c.Paint(kit.Bold, "mail ") + " " + text)
	var rows [][]string
	for _, m := range v.Newest {
		first, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
		rows = append(rows, []string{"     ", kit.Name(address.Instance(m.From)), m.Verdict.Said(), kit.Ago(max(0, time.Since(m.At))), kit.Truncate(kit.Clean(first), kit.TextShown)})
	}
	c.Rows(rows)
	if more := v.Unread - len(v.Newest); more > 0 && !v.More {
		c.Line(fmt.Sprintf("       and %d more", more))
	}
}
