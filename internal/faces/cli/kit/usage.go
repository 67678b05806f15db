package kit

// Usage is the usage line of the verb in hand.
func (in *Input) Usage() string { return Synopsis(in.Verb, in.Under) }

// Synopsis is usageLine for a page that lists the flags anyway: where they do not fit on its line, one word stands for
// all of them.
func Synopsis(v *Verb, under Names) string {
	if line := UsageLine(v, under); len("Usage: ")+len(line) <= HelpWidth {
		return line
	}
	line := v.Called(under) + " [<flag>...]"
	if v.Args != "" && under != H2A {
		line += " " + v.Args
	}
	return line
}

// The widths that help is laid out for. Elsewhere than on a terminal it is always the same, so that it can be compared.
const (
	HelpWidth = 80  // where there is no terminal
	MaxHelp   = 100 // longer lines are hard to read, however wide the terminal
	MinHelp   = 40
)

// UsageLine is the verb with all its flags and arguments. The arguments are left out under h2a, whose verbs are given
// everything by flags.
func UsageLine(v *Verb, under Names) string {
	line := v.Called(under)
	for _, f := range v.FlagsUnder(under) {
		line += " [" + f.Label() + "]"
	}
	if v.Args != "" && under != H2A {
		line += " " + v.Args
	}
	return line
}

// FlagsUnder returns the verb's own flags that exist under a name.
func (v *Verb) FlagsUnder(under Names) []Flag {
	var flags []Flag
	for i := range v.Flags {
		if f := &v.Flags[i]; f.in(under) {
			flags = append(flags, *f)
		}
	}
	return flags
}

// Label is a flag as help shows it: "--name <value>".
func (f *Flag) Label() string {
	if f.Kind >= Text {
		return "--" + f.Name + " <" + f.Value + ">"
	}
	return "--" + f.Name
}

// Called is the command that runs the verb under a name.
func (v *Verb) Called(under Names) string {
	switch under {
	case Cross:
		return "cross-agent-" + v.CrossName()
	case H2A:
		return "h2a " + v.Name
	}
	return "tutti " + v.Name
}
