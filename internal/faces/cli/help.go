package cli

import (
	"context"
	"strings"
)

// runHelp is the verb help.
func runHelp(_ context.Context, c *Call) error {
	switch {
	case len(c.Args) == 0 && c.on("all"):
		c.everyVerb()
		return nil
	case len(c.Args) == 0:
		c.overviewTutti()
		return nil
	}
	v, err := c.verbOf("help")
	switch {
	case v != nil:
		c.verbHelp(v)
	case err == nil:
		c.familyHelp(c.arg(0))
	}
	return err
}

// verbOf returns the verb that the arguments name. It is nil without an error when they name a family.
func (c *Call) verbOf(asked string) (*Verb, error) {
	first, second := c.arg(0), c.arg(1)
	if second == "" {
		first, second, _ = strings.Cut(first, " ") // tutti help 'store list'
	}
	v := c.Table.find(Tutti, first, second)
	switch {
	case v != nil, second == "" && c.Table.hasFamily(Tutti, first):
		return v, nil
	case c.Table.hasFamily(Tutti, first):
		words := c.Table.words(Tutti, first)
		hint := didYouMean(nearest(second, words), "tutti "+asked+" "+first+" ")
		if hint == "" {
			hint = "one of: " + strings.Join(words, ", ")
		}
		return nil, usageHint(hint, "%s %s: no such verb", first, Clean(second))
	case c.Table.find(Tutti, first, "") != nil:
		return nil, usageHint("tutti "+asked+" "+first, "%s is one word: %q has no place", first, Clean(second))
	}
	hint := didYouMean(verbsMeant(first, c.Table.words(Tutti, "")), "tutti "+asked+" ")
	if hint == "" {
		hint = `"tutti help --all" lists the verbs`
	}
	return nil, usageHint(hint, "%s: no such verb", Clean(strings.Join(c.Args, " ")))
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

// about says in one line what this is.
const about = "Coding agents find each other, send signed messages, and stop at one command."

// overviewColumn is where the second column of the overview begins.
const overviewColumn = 14

// overviewTutti shows on one screen what a newcomer needs. Verbs that are seldom needed are only named, families stand
// for their verbs, and plumbing is left to the list of everything.
func (c *Call) overviewTutti() {
	c.line("Usage: tutti <verb> [<flag>...] [<argument>...]")
	c.line("")
	c.filled(about)
	for g := range groupEnd {
		if g == GroupPlumbing {
			continue
		}
		c.line("")
		c.line(c.paint(bold, groupTitles[g]))
		rare := c.overviewGroup(g)
		if len(rare) > 0 {
			c.helpRow("  also", strings.Join(rare, ", "), overviewColumn)
		}
	}
	c.line("")
	var flags []string
	for i := range globals {
		flags = append(flags, unbroken(globals[i].label()))
	}
	c.filled("Every verb takes " + strings.Join(flags, ", ") + ".")
	c.line("")
	c.filled(`"tutti help <verb>" says all about one verb, with examples; "tutti help --all" lists all verbs and flags.`)
}

// overviewGroup shows the rows of a group and returns the verbs that are only named.
func (c *Call) overviewGroup(g Group) (rare []string) {
	shown := ""
	c.Table.each(Tutti, func(v *Verb) bool {
		family := v.family()
		switch {
		case v.Group != g || v.Hidden || family != "" && family == shown:
		case v.Rare && family == "":
			rare = append(rare, v.Name)
		case v.Rare && !contains(rare, family) && c.Table.find(Tutti, family, "") == nil:
			rare = append(rare, family)
		case v.Rare:
		case family == "":
			c.helpRow("  "+v.Name, v.Short, overviewColumn)
		case c.Table.find(Tutti, family, "") == nil:
			shown = family
			c.helpRow("  "+family, oneLine(c.Table.words(Tutti, family)), overviewColumn)
		}
		return true
	})
	return rare
}

// oneLine are the verbs of a family in the overview. Of a large one the first stand there.
func oneLine(words []string) string {
	text, room := strings.Join(words, ", "), helpWidth-overviewColumn
	if Width(text) <= room {
		return text
	}
	n := len(words) - 1
	for n > 1 && Width(strings.Join(words[:n], ", "))+len(", …") > room {
		n--
	}
	return strings.Join(words[:n], ", ") + ", …"
}

// nameColumn is where the second column of help begins: all groups of a page share it.
const nameColumn = 26

// everyVerb lists all verbs and the flags that each of them has.
func (c *Call) everyVerb() {
	for g := range groupEnd {
		c.line(c.paint(bold, groupTitles[g]))
		c.Table.each(Tutti, func(v *Verb) bool {
			if v.Group == g && !v.Hidden {
				c.helpRow("  "+v.Name, v.Short, nameColumn)
			}
			return true
		})
		c.line("")
	}
	c.line(c.paint(bold, "Flags that every verb has"))
	c.flagRows(globals[:])
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
	c.Table.each(Tutti, func(v *Verb) bool {
		if v.family() == family && !v.Hidden {
			c.helpRow("  "+v.Name, v.Short, nameColumn)
		}
		return true
	})
	c.line("")
	c.line(`"tutti help ` + family + ` <verb>" says all about one of them.`)
}

// verbHelp prints all about a verb: what a person with a terminal and no manual needs to finish the task.
func (c *Call) verbHelp(v *Verb) {
	c.line("Usage: " + synopsis(v, c.under))
	c.line("")
	c.filled(v.Does)
	if v.Wont != "" {
		c.line("")
		c.filled(v.Wont)
	}
	if flags := v.flagsUnder(c.under); len(flags) > 0 {
		c.line("")
		c.line("Flags:")
		c.flagRows(flags)
	}
	c.line("")
	c.line("Example:")
	for line := range strings.SplitSeq(v.Examples, "\n") {
		c.line("    " + line)
	}
	c.line("")
	c.line("Exit status:")
	for _, row := range exitRows(v.exitOf(c.under)) {
		c.helpRow("  "+row[0], row[1], len("  130  "))
	}
	if c.under != Tutti {
		return
	}
	c.line("")
	if names := c.Table.related(v, Tutti); len(names) > 0 {
		for i, name := range names {
			names[i] = unbroken("tutti " + name)
		}
		c.filled("See also: " + strings.Join(names, ", "))
	}
	c.line(`Flags that every verb has: "tutti help".`)
}

func (c *Call) flagRows(flags []Flag) {
	for i := range flags {
		if f := &flags[i]; f.Under == 0 || f.Under&c.under != 0 {
			c.helpRow("  "+f.label(), f.explained(), nameColumn)
		}
	}
}
