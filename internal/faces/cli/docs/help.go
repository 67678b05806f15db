package docs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tutti/internal/faces/cli/kit"
)

// HelpOptions are the flags of help.
type HelpOptions struct{ All bool }

// RunHelp is the verb help.
func RunHelp(_ context.Context, c *kit.Call, opt *HelpOptions) error {
	switch {
	case len(c.Args) == 0 && opt.All:
		everyVerb(c)
		return nil
	case len(c.Args) == 0:
		OverviewTutti(c)
		return nil
	case c.Arg(0) == More && len(c.Args) == 1:
		overviewMore(c)
		return nil
	}
	c.Args = kit.Unalias(c.Args, 0)
	v, err := VerbOf(c, "help")
	switch {
	case v != nil:
		VerbHelp(c, v)
	case err == nil:
		familyHelp(c, c.Arg(0))
	}
	return err
}

// VerbOf returns the verb that the arguments name. It is nil without an error when they name a family.
func VerbOf(c *kit.Call, asked string) (*kit.Verb, error) {
	first, second := c.Arg(0), c.Arg(1)
	if second == "" {
		first, second, _ = strings.Cut(first, " ") // tutti help 'store list'
	}
	v := c.Table.Find(kit.Tutti, first, second)
	switch {
	case v != nil, second == "" && c.Table.HasFamily(kit.Tutti, first):
		return v, nil
	case c.Table.HasFamily(kit.Tutti, first):
		words := c.Table.Words(kit.Tutti, first)
		hint := kit.DidYouMean(kit.Nearest(second, words), "tutti "+asked+" "+first+" ")
		if hint == "" {
			hint = "one of: " + strings.Join(words, ", ")
		}
		return nil, kit.UsageHint(hint, "%s %s: no such verb", first, kit.Clean(second))
	case c.Table.Find(kit.Tutti, first, "") != nil:
		return nil, kit.UsageHint("tutti "+asked+" "+first, "%s is one word: %q has no place", first, kit.Clean(second))
	}
	hint := kit.DidYouMean(kit.VerbsMeant(first, c.Table.FirstWords()), "tutti "+asked+" ")
	if hint == "" {
		hint = `"tutti help --all" lists the verbs`
	}
	return nil, kit.UsageHint(hint, "%s: no such verb", kit.Clean(strings.Join(c.Args, " ")))
}

// ShowHelp answers --help and -h. It never runs a verb.
func ShowHelp(c *kit.Call) error {
	if c.Verb == nil {
		return overview(c)
	}
	VerbHelp(c, c.Verb)
	return nil
}

// overview shows what there is, for the name that was called.
func overview(c *kit.Call) error {
	if c.Under == kit.H2A {
		OverviewH2A(c)
	} else {
		OverviewTutti(c)
	}
	return nil
}

// about says in one line what this is.
const about = "Coding agents find each other, send signed messages, and stop at one command."

// OverviewColumn is where the second column of the overview begins.
const OverviewColumn = 14

// Everyday are the verbs of a normal day, in the order of the overview and of completion. One that the table does not have is left out.
var Everyday = []string{"status", "top", "log", "send", "receive", "watch", "session", "halt", "resume", "doctor", "setup"}

// More is the word behind help that lists the other verbs.
const More = "more"

// OverviewTutti shows the verbs of a normal day.
func OverviewTutti(c *kit.Call) {
	c.Line("Usage: tutti <verb> [<flag>...] [<argument>...]")
	c.Line("")
	filled(c, about)
	c.Line("")
	for _, name := range Everyday {
		overviewRow(c, name)
	}
	c.Line("")
	helpRow(c, `"tutti help <verb>"`, "explains one verb, with examples", nameColumn)
	helpRow(c, `"tutti help more"`, "lists the other verbs by subject", nameColumn)
}

// overviewMore lists the verbs that the overview leaves out, by subject, and the flags that every verb has.
func overviewMore(c *kit.Call) {
	for g := range kit.GroupEnd {
		if g == kit.GroupPlumbing {
			continue
		}
		var names []string
		for v := range c.Table.Shown(kit.Tutti) {
			name, _, _ := strings.Cut(v.Name, " ")
			if v.Group == g && !slices.Contains(Everyday, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		c.Line(c.Paint(kit.Bold, kit.GroupTitles[g]))
		for _, name := range names {
			overviewRow(c, name)
		}
		c.Line("")
	}
	var flags []string
	for i := range kit.Globals {
		flags = append(flags, Unbroken(kit.Globals[i].Label()))
	}
	filled(c, "Every verb takes "+strings.Join(flags, ", ")+".")
	c.Line("")
	filled(c, `"tutti help --all" lists every verb on a line of its own, also those for scripts and tests.`)
}

// overviewRow shows a verb with its line, or a family with its verbs, under the plain word where there is one.
func overviewRow(c *kit.Call, name string) {
	text := ""
	if v := c.Table.Find(kit.Tutti, name, ""); v != nil {
		text = v.Short
	} else if c.Table.HasFamily(kit.Tutti, name) {
		words := c.Table.Words(kit.Tutti, name)
		if about := aboutFamily[name]; about != "" {
			words = append([]string{about + ": " + words[0]}, words[1:]...)
		}
		text = oneLine(words)
	} else {
		return
	}
	if plain := kit.AliasOf(name); plain != "" && c.Table.Find(kit.Tutti, name, "") == nil {
		name = plain
	}
	helpRow(c, "  "+name, text, OverviewColumn)
}

// aboutFamily explains families by more than their names.
var aboutFamily = map[string]string{"nhi": "who answers for an agent", "sysml": "agreements as a system model"}

// oneLine are the verbs of a family in the overview. Of a large one the first stand there.
func oneLine(words []string) string {
	text, room := strings.Join(words, ", "), kit.HelpWidth-OverviewColumn
	if kit.Width(text) <= room {
		return text
	}
	n := len(words) - 1
	for n > 1 && kit.Width(strings.Join(words[:n], ", "))+len(", …") > room {
		n--
	}
	return strings.Join(words[:n], ", ") + ", …"
}

// nameColumn is where the second column of help begins: all groups of a page share it.
const nameColumn = 26

// everyVerb lists all verbs and the flags that each of them has.
func everyVerb(c *kit.Call) {
	for g := range kit.GroupEnd {
		c.Line(c.Paint(kit.Bold, kit.GroupTitles[g]))
		for v := range c.Table.Shown(kit.Tutti) {
			if v.Group == g {
				helpRow(c, "  "+v.Name, v.Short, nameColumn)
			}
		}
		c.Line("")
	}
	c.Line(c.Paint(kit.Bold, "Flags that every verb has"))
	flagRows(c, kit.Globals[:])
}

func OverviewH2A(c *kit.Call) {
	c.Line("h2a: agents of several hosts share one bus")
	c.Line("")
	c.Line("Usage:")
	for v := range c.Table.Shown(kit.H2A) {
		c.Line("  " + kit.UsageLine(v, kit.H2A))
	}
	c.Line("")
	c.Line("Hosts: codex, claude, gemini, agy")
}

// familyHelp shows the verbs of one family.
func familyHelp(c *kit.Call, family string) {
	c.Line("Usage: tutti " + cmp.Or(kit.AliasOf(family), family) + " <verb>")
	c.Line("")
	for v := range c.Table.Shown(kit.Tutti) {
		if v.Family() == family {
			helpRow(c, "  "+cmp.Or(kit.PlainName(v.Name), v.Name), v.Short, nameColumn)
		}
	}
	c.Line("")
	if plain := kit.AliasOf(family); plain != "" {
		c.Line("tutti " + family + " is the older name of tutti " + plain + ".")
		family = plain
	}
	c.Line(`"tutti help ` + family + ` <verb>" says all about one of them.`)
}

// VerbHelp prints all about a verb: what a person with a terminal and no manual needs to finish the task.
func VerbHelp(c *kit.Call, v *kit.Verb) {
	usage, other := kit.Synopsis(v, c.Under), kit.PlainName(v.Name)
	if other != "" && c.Under == kit.Tutti && v.Family() != "" { // the plain word first
		usage, other = strings.Replace(usage, v.Name, other, 1), v.Name
	}
	c.Line("Usage: " + usage)
	if other != "" && c.Under == kit.Tutti {
		c.Line("Also:  tutti " + other)
	}
	c.Line("")
	plain := func(text string) string { return text }
	if c.Under == kit.Tutti {
		plain = kit.PlainNames
	}
	filled(c, plain(v.Does))
	if v.Wont != "" {
		c.Line("")
		filled(c, plain(v.Wont))
	}
	if flags := v.FlagsUnder(c.Under); len(flags) > 0 {
		c.Line("")
		c.Line("Flags:")
		flagRows(c, flags)
	}
	c.Line("")
	c.Line("Example:")
	for line := range strings.SplitSeq(plain(v.Examples), "\n") {
		c.Line("    " + line)
	}
	c.Line("")
	c.Line("Exit status:")
	for _, row := range ExitRows(ExitOf(v, c.Under)) {
		helpRow(c, "  "+row[0], row[1], len("  130  "))
	}
	if c.Under != kit.Tutti {
		return
	}
	c.Line("")
	if names := Related(c.Table, v, kit.Tutti); len(names) > 0 {
		for i, name := range names {
			names[i] = Unbroken(strings.TrimSuffix(kit.PlainNames("tutti "+name+" "), " "))
		}
		filled(c, "See also: "+strings.Join(names, ", "))
	}
	c.Line(`Flags that every verb has: "tutti help more".`)
}

func flagRows(c *kit.Call, flags []kit.Flag) {
	for i := range flags {
		if f := &flags[i]; f.Under == 0 || f.Under&c.Under != 0 {
			helpRow(c, "  "+f.Label(), Explained(f), nameColumn)
		}
	}
}
