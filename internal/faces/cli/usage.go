package cli

// usage is the usage line of the verb in hand.
func (in *Input) usage() string { return synopsis(in.Verb, in.under) }

// synopsis is usageLine for a page that lists the flags anyway: where they do not fit on its line, one word stands for
// all of them.
func synopsis(v *Verb, under Names) string {
	if line := usageLine(v, under); len("Usage: ")+len(line) <= helpWidth {
		return line
	}
	line := v.called(under) + " [<flag>...]"
	if v.Args != "" && under != H2A {
		line += " " + v.Args
	}
	return line
}

// The widths that help is laid out for. Elsewhere than on a terminal it is always the same, so that it can be compared.
const (
	helpWidth = 80  // where there is no terminal
	maxHelp   = 100 // longer lines are hard to read, however wide the terminal
	minHelp   = 40
)

// usageLine is the verb with all its flags and arguments. The arguments are left out under h2a, whose verbs are given
// everything by flags.
func usageLine(v *Verb, under Names) string {
	line := v.called(under)
	for _, f := range v.flagsUnder(under) {
		line += " [" + f.label() + "]"
	}
	if v.Args != "" && under != H2A {
		line += " " + v.Args
	}
	return line
}

// flagsUnder returns the verb's own flags that exist under a name.
func (v *Verb) flagsUnder(under Names) []Flag {
	var flags []Flag
	for i := range v.Flags {
		if f := &v.Flags[i]; f.Under == 0 || f.Under&under != 0 {
			flags = append(flags, *f)
		}
	}
	return flags
}

// label is a flag as help shows it: "--name <value>".
func (f *Flag) label() string {
	if f.Kind >= Text {
		return "--" + f.Name + " <" + f.Value + ">"
	}
	return "--" + f.Name
}

// called is the command that runs the verb under a name.
func (v *Verb) called(under Names) string {
	switch under {
	case Cross:
		return "cross-agent-" + v.crossName()
	case H2A:
		return "h2a " + v.Name
	}
	return "tutti " + v.Name
}
