package status

import (
	"fmt"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// sayDetails prints what --long adds below the table: the bus of this folder, who you are there, who conducts, your newest mail, the
// mail between projects, and what looks after the bus.
func sayDetails(c *kit.Call, v *statusView) {
	c.Line("")
	bus := c.App.Shown(v.root.Path) + " (" + v.root.Source.Why() + ")"
	if !v.exists {
		bus = "none at " + bus
	}
	c.Prose(c.Paint(kit.Bold, "bus  ")+" ", 6, kit.Clean(bus))
	if v.exists {
		sayYou(c, v)
		saySeat(c, v.seat)
		sayMail(c, v)
	}
	sayLetters(c, v.letters)
	if v.exists {
		c.Prose(c.Paint(kit.Bold, "up   ")+" ", 6, UpText(v.up))
	}
}

func sayYou(c *kit.Call, v *statusView) {
	text := ""
	switch {
	case v.you == nil:
		text = "unknown: " + kit.Clean(kit.WhyNobody(v.nobody))
	default:
		text = kit.Clean(string(v.you.Instance)+" ("+v.you.How+")") + v.denied.Of(v.you.Instance, v.folder).Words()
	}
	c.Prose(c.Paint(kit.Bold, "you  ")+" ", 6, text)
}

func sayMail(c *kit.Call, v *statusView) {
	if v.you == nil {
		return
	}
	text := "nothing unread"
	if v.unread > 0 {
		text = fmt.Sprintf("%d unread", v.unread)
	}
	if v.more {
		text = fmt.Sprintf("%d or more unread; tutti inbox lists the newest", v.unread)
	}
	if v.bad > 0 {
		text += "; " + kit.Plural(v.bad, "file") + " that cannot be read as a message"
	}
	c.Line(c.Paint(kit.Bold, "mail ") + " " + text)
	var rows [][]string
	for _, m := range v.newest {
		first, _, _ := strings.Cut(strings.TrimSpace(m.text), "\n")
		rows = append(rows, []string{"     ", kit.Name(address.Instance(m.from)), m.verdict.Said(), kit.Ago(max(0, time.Since(m.at))), kit.Truncate(kit.Clean(first), kit.TextShown)})
	}
	c.Rows(rows)
	if more := v.unread - len(v.newest); more > 0 && !v.more {
		c.Line(fmt.Sprintf("       and %d more", more))
	}
}
