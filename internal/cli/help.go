package cli

import (
	"context"
	"strings"
)

// Verbs returns the table, for what is generated from it: manual pages, the reference, and the tests that hold what may
// be heavy.
func Verbs() Table { return verbs[:] }

// Heavy tells whether only the heavy program has the verb.
func (v *Verb) Heavy() bool { return v.Run == nil }

// runHelp is the verb help.
func runHelp(_ context.Context, c *Call) error {
	if len(c.Args) == 0 {
		c.overviewTutti()
		return nil
	}
	v := c.Table.find(Tutti, c.arg(0), c.arg(1))
	if v == nil && len(c.Args) == 2 {
		v = c.Table.find(Tutti, c.arg(0), "")
	}
	if v == nil && c.Table.hasFamily(Tutti, c.arg(0)) {
		c.familyHelp(c.arg(0))
		return nil
	}
	if v == nil {
		hint := didYouMean(nearest(c.arg(0), c.Table.words(Tutti, "")), "tutti help ")
		return usageHint(hint, "%s: no such verb", Clean(strings.Join(c.Args, " ")))
	}
	c.verbHelp(v)
	return nil
}

// showHelp answers --help and -h. It never runs a verb.
func (c *Call) showHelp() error {
	if c.Verb == nil {
		return c.overview()
	}
	c.verbHelp(c.Verb)
	return nil
}

// overview shows what there is, for the name that was called.
func (c *Call) overview() error {
	if c.under == H2A {
		c.overviewH2A()
	} else {
		c.overviewTutti()
	}
	return nil
}

func (c *Call) overviewTutti() {
	c.line("Usage: tutti <verb> [<flag>...] [<argument>...]")
	c.line("")
	c.line("Coding agents in several terminals find each other, send each other signed messages, and stop at one command.")
	for g := range groupEnd {
		var rows [][]string
		c.Table.each(Tutti, func(v *Verb) bool {
			if v.Group == g && !v.Hidden {
				rows = append(rows, []string{"  " + v.Name, v.Short})
			}
			return true
		})
		if len(rows) == 0 {
			continue
		}
		c.line("")
		c.line(c.paint(bold, groupTitles[g]))
		c.nameRows(rows)
	}
	c.line("")
	c.line("Flags that every verb has")
	c.flagRows(globals[:])
	c.line("")
	c.line(`"tutti help <verb>" says all about one verb.`)
}

// nameColumn is the width of the first column of help: all groups of a page share it.
const nameColumn = 26

func (c *Call) nameRows(rows [][]string) {
	for _, row := range rows {
		c.line(pad(row[0]+" ", nameColumn) + row[1])
	}
}

func (c *Call) overviewH2A() {
	c.line("h2a: agents of several hosts share one bus")
	c.line("")
	c.line("Usage:")
	c.Table.each(H2A, func(v *Verb) bool {
		if !v.Hidden {
			c.line("  " + usageLine(v, H2A))
		}
		return true
	})
	c.line("")
	c.line("Hosts: codex, claude, gemini, agy")
}

// familyHelp shows the verbs of one family.
func (c *Call) familyHelp(family string) {
	c.line("Usage: tutti " + family + " <verb>")
	c.line("")
	var rows [][]string
	c.Table.each(Tutti, func(v *Verb) bool {
		if v.family() == family && !v.Hidden {
			rows = append(rows, []string{"  " + v.Name, v.Short})
		}
		return true
	})
	c.nameRows(rows)
}

// usage is the usage line of the verb in hand.
func (in *Input) usage() string { return usageLine(in.Verb, in.under) }

func usageLine(v *Verb, under Names) string {
	var b strings.Builder
	switch under {
	case Cross:
		b.WriteString("cross-agent-")
	case H2A:
		b.WriteString("h2a ")
	default:
		b.WriteString("tutti ")
	}
	b.WriteString(v.Name)
	for i := range v.Flags {
		f := &v.Flags[i]
		if f.Under != 0 && f.Under&under == 0 {
			continue
		}
		b.WriteString(" [--" + f.Name)
		if f.Kind >= Text {
			b.WriteString(" <" + f.Value + ">")
		}
		b.WriteByte(']')
	}
	if v.Args != "" && under != H2A {
		b.WriteString(" " + v.Args)
	}
	return b.String()
}

// verbHelp prints all about a verb: what a person with a terminal and no manual needs to finish the task.
func (c *Call) verbHelp(v *Verb) {
	c.line("Usage: " + usageLine(v, c.under))
	c.line("")
	c.line(v.Does)
	if v.Wont != "" {
		c.line("")
		c.line(v.Wont)
	}
	if len(v.Flags) > 0 {
		c.line("")
		c.line("Flags:")
		c.flagRows(v.Flags)
	}
	if v.Examples != "" {
		c.line("")
		c.line("Example:")
		for line := range strings.SplitSeq(v.Examples, "\n") {
			c.line("    " + line)
		}
	}
	c.line("")
	exit := v.Exit
	if c.under == Cross {
		exit = crossExit(exit)
	}
	c.line("Exit status: " + exit + ".")
}

// crossExit puts the numbers of the cross-agent commands, where wrong usage has one of its own.
func crossExit(exit string) string {
	return strings.Replace(exit, "3 the switch could not be set", "64 wrong usage", 1)
}

func (c *Call) flagRows(flags []Flag) {
	for i := range flags {
		f := &flags[i]
		if f.Under != 0 && f.Under&c.under == 0 {
			continue
		}
		left := "  --" + f.Name
		if f.Kind >= Text {
			left += " <" + f.Value + ">"
		}
		right := f.Help
		if f.Default != "" {
			right += " (default: " + f.Default + ")"
		}
		c.line(pad(left+" ", nameColumn) + right)
	}
}
