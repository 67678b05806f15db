package cli

import (
	"fmt"
	"strings"
	"time"
)

// sayDetails prints what --long adds below the table: the bus of this folder, who you are there, who conducts, your newest mail, the
// mail between projects, and what looks after the bus.
func (c *Call) sayDetails(v *statusView) {
	c.line("")
	bus := c.App.Shown(v.root.Path) + " (" + v.root.Source.Why() + ")"
	if !v.exists {
		bus = "none at " + bus
	}
	c.prose(c.paint(bold, "bus  ")+" ", 6, Clean(bus))
	if v.exists {
		c.sayYou(v)
		c.saySeat(v.seat)
		c.sayMail(v)
	}
	c.sayLetters(v.letters)
	if v.exists {
		c.prose(c.paint(bold, "up   ")+" ", 6, upText(v.up))
	}
}

func (c *Call) sayYou(v *statusView) {
	text := ""
	switch {
	case v.you == nil:
		text = "nobody yet: " + Clean(whyNobody(v.nobody))
	default:
		text = Clean(string(v.you.Instance)+" ("+v.you.How+")") + v.denied.of(v.you.Instance, v.folder).words()
	}
	c.prose(c.paint(bold, "you  ")+" ", 6, text)
}

func (c *Call) sayMail(v *statusView) {
	if v.you == nil {
		return
	}
	text := "nothing unread"
	if v.unread > 0 {
		text = fmt.Sprintf("%d unread", v.unread)
	}
	if v.bad > 0 {
		text += "; " + plural(v.bad, "file") + " that cannot be read as a message"
	}
	c.line(c.paint(bold, "mail ") + " " + text)
	var rows [][]string
	for _, m := range v.newest {
		first, _, _ := strings.Cut(strings.TrimSpace(m.text), "\n")
		rows = append(rows, []string{"     ", m.from, m.word.String(), ago(max(0, time.Since(m.at))), Truncate(Clean(first), textShown)})
	}
	c.table(rows)
	if more := v.unread - len(v.newest); more > 0 {
		c.line(fmt.Sprintf("       and %d more", more))
	}
}

