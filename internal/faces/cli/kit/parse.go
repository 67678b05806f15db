package kit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/core/address"
)

// An Input is what a command line says: the verb, the values of its flags, and its other words.
type Input struct {
	Verb  *Verb // nil: no verb was named
	Args  []string
	Own   int // how many of Args stood before "--"
	Under Names
	vals  []string // by the place that Verb.flag returns
	set   uint64   // the places that were given
	Help  bool
	Warns []string // unknown flags, where they are only worth a warning
}

// Parse reads a command line in the grammar of the name that the program was called by. The input is never nil; with an
// error it holds what could be understood, so that help can be shown and a lax verb can run.
func Parse(table Table, under Names, cross string, args []string) (*Input, error) {
	switch under {
	case H2A:
		return parseH2A(table, args)
	case Cross:
		in := &Input{Under: Cross, Verb: table.Find(Cross, cross, "")}
		if in.Verb == nil {
			return in, UsageHint("tutti install", "cross-agent-%s: this program has no such command", Clean(cross))
		}
		return in, in.gnu(args, -1, -1)
	}
	in := &Input{Under: Tutti}
	word, _ := locate(table, args)
	args = Unalias(args, word)
	word, sub := locate(table, args)
	err := in.choose(table, args, word, sub)
	if err != nil {
		return in, err
	}
	if in.Verb != nil && in.Verb.Family() == "" {
		sub = -1
	}
	return in, in.gnu(args, word, sub)
}

// locate returns the places of the first two words that are neither flag nor value of a flag, -1 for a missing one. To
// know whether a flag takes a value, before the verb is known, it asks the global flags and then those of every verb.
func locate(table Table, args []string) (word, sub int) {
	word = -1
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return word, -1
		case IsFlag(a):
			name, _, given := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if !given && takesValue(table, args, word, name) {
				i++
			}
		case word < 0:
			word = i
			if !table.HasFamily(Tutti, a) {
				return word, -1
			}
		default:
			return word, i
		}
	}
	return word, -1
}

// early tells whether a flag that is not a global one stands before the verb. Whether such a flag takes a value only the whole table can tell.
func early(args []string) bool {
	for i := 0; i < len(args) && IsFlag(args[i]) && args[i] != "--"; i++ {
		name, _, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		g := (*Verb)(nil).Flag(Tutti, name)
		if g < 0 {
			return true
		}
		if Globals[g].Kind >= Text && !given {
			i++
		}
	}
	return false
}

// IsFlag tells whether a word is a flag; "-" alone stands for standard input.
func IsFlag(a string) bool { return len(a) > 1 && a[0] == '-' }

func takesValue(table Table, args []string, word int, name string) bool {
	if i := (*Verb)(nil).Flag(Tutti, name); i >= 0 {
		return Globals[i].Kind >= Text
	}
	for v := range table.Of(Tutti) {
		if word >= 0 && v.Family() != args[word] && v.Name != args[word] {
			continue
		}
		if i := v.Typed(Tutti, name); i >= 0 && v.At(i).Kind >= Text {
			return true
		}
	}
	return false
}

// choose sets the verb of the words found, which may be none.
func (in *Input) choose(table Table, args []string, word, sub int) error {
	if word < 0 {
		return nil
	}
	first, second := args[word], ""
	if sub >= 0 {
		second = args[sub]
	}
	if second != "" {
		in.Verb = table.Find(Tutti, first, second)
	}
	if in.Verb == nil {
		in.Verb = table.Find(Tutti, first, "")
		if in.Verb != nil && second != "" && in.Verb.MaxArgs == 0 && !in.Verb.strays(args[sub-1]) {
			in.Verb = nil // it takes no word, so this word should be a verb
		}
	}
	if in.Verb != nil {
		return nil
	}
	in.Help = asksHelp(args)
	if !table.HasFamily(Tutti, first) {
		meant := VerbsMeant(first, table.FirstWords())
		if len(meant) == 0 {
			meant = table.Ending(first)
		}
		hint := DidYouMean(meant, "tutti ")
		if hint == "" {
			hint = `"tutti help more" lists the verbs`
		}
		return UsageHint(hint, "%s: no such verb", Clean(first))
	}
	words := table.Words(Tutti, first)
	first = cmp.Or(AliasOf(first), first)
	if second == "" {
		return UsageHint(`"tutti help `+first+`" says more`, "%s: missing verb; one of: %s", first, strings.Join(words, ", "))
	}
	hint := DidYouMean(Nearest(second, words), "tutti "+first+" ")
	if hint == "" {
		hint = "one of: " + strings.Join(words, ", ")
	}
	return UsageHint(hint, "%s %s: no such verb", first, Clean(second))
}

// strays tells whether a word is a flag that the verb does not have, so that the word behind it may have been meant as its value.
func (v *Verb) strays(word string) bool {
	name, _, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return IsFlag(word) && !given && name != "h" && v.Typed(Tutti, name) < 0
}

// asksHelp tells whether help is asked for anywhere before "--".
func asksHelp(args []string) bool {
	for _, a := range args {
		switch a {
		case "-h", "--help":
			return true
		case "--":
			return false
		}
	}
	return false
}

// gnu reads flags that may stand anywhere, as --flag value or --flag=value, and ends them at "--". The words at the
// places word and sub are the verb. The first fault is returned; reading goes on behind it.
func (in *Input) gnu(args []string, word, sub int) (err error) {
	in.room()
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	own := -1
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case i == word || i == sub:
		case a == "--":
			own = len(in.Args)
			in.Args = append(in.Args, args[i+1:]...)
			i = len(args)
		case a == "-h":
			in.Help = true
		case !IsFlag(a):
			in.Args = append(in.Args, a)
		default:
			used, e := in.gnuFlag(a, args[i+1:])
			keep(e)
			i += used
		}
	}
	if in.Own = own; own < 0 {
		in.Own = len(in.Args)
	}
	if in.IsSet("help") {
		in.Help = true
	}
	if err == nil && !in.Help && in.Verb != nil {
		err = in.countArgs()
	}
	return err
}

// gnuFlag reads one flag and returns how many of the words behind it belong to it.
func (in *Input) gnuFlag(a string, rest []string) (used int, err error) {
	name, val, given := strings.Cut(strings.TrimPrefix(a, "--"), "=")
	place := -1
	switch {
	case strings.HasPrefix(a, "--"):
		place = in.Verb.Typed(in.Under, name)
	case len(a) == 2: // -f
		place = in.Verb.Typed(in.Under, a[1:])
	}
	if place < 0 {
		return 0, UsageHint(in.flagHint(name), "%s: unknown flag", Clean(a))
	}
	f := in.Verb.At(place)
	if f.Kind < Text {
		switch {
		case !given || val == "true":
			in.put(place, "true")
		case val == "false":
			in.set &^= 1 << place
		default:
			return 0, Usagef("--%s is a switch and takes no value", name)
		}
		return 0, nil
	}
	if !given {
		if len(rest) == 0 || strings.HasPrefix(rest[0], "--") {
			hint := "--" + name + " <" + f.Value + ">"
			if len(rest) > 0 {
				hint = "one that begins with two dashes is written --" + name + "=<" + f.Value + ">"
			}
			return 0, UsageHint(hint, "--%s needs a value", name)
		}
		val, used = rest[0], 1
	}
	in.put(place, val)
	return used, f.check(val)
}

// flagHint says which flags there are that resemble name.
func (in *Input) flagHint(name string) string {
	hint := DidYouMean(Nearest(strings.TrimLeft(name, "-"), in.flagNames()), "--")
	if hint != "" {
		return hint
	}
	if in.Verb == nil {
		return `"tutti help more" lists the flags that every verb has`
	}
	return `"` + in.title() + ` --help" lists the flags`
}

// title is the verb as the user typed it: program and words.
func (in *Input) title() string {
	name := ""
	if in.Verb != nil {
		name = in.Verb.Name
	}
	switch in.Under {
	case Cross:
		return "cross-agent-" + strings.TrimPrefix(name, commsFamily+" ")
	case H2A:
		return strings.TrimSpace("h2a " + name)
	}
	return strings.TrimSpace("tutti " + name)
}

// flagNames lists the flags that exist for the verb under this name.
func (in *Input) flagNames() []string {
	var out []string
	for _, f := range in.Verb.Takes(in.Under) {
		out = append(out, f.Name)
	}
	return out
}

// room makes place for the values of the verb's flags and the global ones.
func (in *Input) room() { in.vals = make([]string, in.Verb.places()) }

func (in *Input) put(place int, val string) {
	in.vals[place] = val
	in.set |= 1 << place
}

// IsSet tells whether a flag was given (for a switch: and is on).
func (in *Input) IsSet(name string) bool {
	place := in.Verb.Flag(in.Under, name)
	return place >= 0 && in.set&(1<<place) != 0
}

// Text returns the value of a flag, "" when it was not given.
func (in *Input) Text(name string) string {
	if place := in.Verb.Flag(in.Under, name); place >= 0 && place < len(in.vals) {
		return in.vals[place]
	}
	return ""
}

// countArgs tells whether there are too few or too many words beside the flags.
func (in *Input) countArgs() error {
	v := in.Verb
	switch n := len(in.Args); {
	case n < v.MinArgs:
		return UsageHint("usage: "+in.Usage(), "%s: missing %s", v.Name, v.Argument(n))
	case v.MaxArgs >= 0 && n > v.MaxArgs:
		return UsageHint(in.surplusHint(in.Args[v.MaxArgs]), "%s: unexpected argument %q", v.Name, Clean(in.Args[v.MaxArgs]))
	}
	return nil
}

// Argument is the n-th word that the verb wants, as help shows it.
func (v *Verb) Argument(n int) string {
	var all []string
	for _, word := range strings.Fields(v.Args) {
		if last := len(all) - 1; last >= 0 && strings.Contains(all[last], "<") && !strings.Contains(all[last], ">") {
			all[last] += " " + word // "<new name>" is one
		} else {
			all = append(all, word)
		}
	}
	if n < len(all) {
		return strings.Trim(all[n], "[]")
	}
	return "an argument"
}

// surplusHint says what to type for a word that has no place: an agent is named by a flag where there is one, and a text of
// several words wants quotes.
func (in *Input) surplusHint(word string) string {
	if in.Verb.Name == "resume" && in.Under == Tutti {
		if _, err := FactsOf(app.New(app.Settings{})).ForUser("lift a halt"); err != nil {
			return HintOf(err) // no agent reads how to lift a halt or a pause
		}
		return "one that is paused: tutti unpause " + app.QuoteArg(word) + "; after a halt: tutti resume --session " + app.QuoteArg(word)
	}
	for _, name := range [...]string{"as", "instance"} {
		if in.Verb.MaxArgs == 0 && in.Verb.Flag(in.Under, name) >= 0 && address.HostQualified(word) {
			return "an agent is named by a flag: --" + name + " " + Clean(app.QuoteArg(word))
		}
	}
	if in.Verb.MaxArgs == 0 && in.Verb.Flag(in.Under, "host") >= 0 && slices.Contains(HostNames, word) {
		return "a program is named by a flag: --host " + word
	}
	switch in.Verb.Name {
	case "send":
		return `quotes around the text, commas between recipients: ` + in.title() + ` ID,ID "TEXT"`
	case "reply":
		return `quotes around the text: ` + in.title() + ` ID "TEXT"`
	}
	return "usage: " + in.Usage()
}

// Values are the only values allowed, nil where any is.
func (f *Flag) Values() []string {
	all := f.Choices
	if f.Added {
		for _, a := range driver.Programs() {
			all = append(all[:len(all):len(all)], a.Name)
		}
	}
	return all
}

// check tells what is wrong with a value.
func (f *Flag) check(val string) error {
	switch f.Kind {
	case Count:
		if n, err := strconv.Atoi(val); err != nil || n < 0 {
			return UsageHint("write it like 10", "--%s: %q is not a whole number", f.Name, Clean(val))
		}
	case Duration:
		if d, err := time.ParseDuration(val); err != nil || d < 0 {
			return UsageHint("write it like 500ms, 10s or 2m", "--%s: %q is not a duration", f.Name, Clean(val))
		}
	}
	if all := f.Values(); len(all) > 0 && !slices.Contains(all, val) {
		return UsageHint("one of: "+strings.Join(all, ", "), "--%s: %q is not known", f.Name, Clean(val))
	}
	return nil
}
