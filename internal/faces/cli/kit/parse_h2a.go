package kit

import "strings"

// parseH2A reads the grammar of h2a: the verb is the first word and a subverb the second, a flag is followed by its
// value unless the next word begins with two dashes, and then its value is "true". Words beside flags are kept for
// the verbs that take them and ignored by the others. Beyond the original, --flag=value is understood where the flag is
// known, help for one verb never runs it, and an unknown flag is worth a warning.
func parseH2A(table Table, args []string) (*Input, error) {
	in := &Input{Under: H2A}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		in.Help = true
		in.room()
		if len(args) > 2 {
			in.Verb = table.Find(H2A, args[1], args[2])
		}
		if len(args) > 1 && in.Verb == nil {
			in.Verb = table.Find(H2A, args[1], "")
		}
		return in, nil
	}
	first, rest := args[0], args[1:]
	if first == "--version" {
		in.room()
		in.put(in.Verb.Flag(H2A, "version"), "true")
		return in, nil
	}
	if len(rest) > 0 {
		if in.Verb = table.Find(H2A, first, rest[0]); in.Verb != nil {
			rest = rest[1:]
		}
	}
	if in.Verb == nil {
		in.Verb = table.Find(H2A, first, "")
	}
	if in.Verb == nil {
		in.Help = asksHelp(rest)
		return in, unknownH2A(table, first, rest)
	}
	return in, in.h2aFlags(rest)
}

func unknownH2A(table Table, first string, rest []string) error {
	if !table.HasFamily(H2A, first) {
		hint := DidYouMean(Nearest(first, table.Words(H2A, "")), "h2a ")
		if hint == "" {
			hint = `Run "h2a --help" for the list of commands.`
		}
		return &Fault{Code: ExitUsage, Msg: "Unknown command: " + Clean(first), Next: hint, bare: true}
	}
	sub := ""
	if len(rest) > 0 {
		sub = Clean(rest[0])
	}
	words := table.Words(H2A, first)
	return &Fault{
		Code: ExitUsage, Msg: "Unknown " + first + " subcommand: " + sub,
		Next: "Subcommands: " + strings.Join(words, ", "), bare: true,
	}
}

func (in *Input) h2aFlags(args []string) (err error) {
	in.room()
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "--") {
			if a == "-h" {
				in.Help = true
				continue
			}
			in.Args = append(in.Args, a)
			continue
		}
		val, valued := "true", false
		name := a[2:]
		place := in.Verb.Flag(H2A, name)
		if eq := strings.IndexByte(name, '='); eq > 0 && place < 0 {
			if p := in.Verb.Flag(H2A, name[:eq]); p >= 0 {
				place, val, valued = p, name[eq+1:], true
			}
		}
		if !valued && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			val, valued = args[i], true
		}
		if place < 0 {
			in.Warns = append(in.Warns, h2aUnknown(in, a))
			continue
		}
		if e := in.h2aPut(place, val); e != nil && err == nil {
			err = e
		}
	}
	in.Help = in.Help || in.IsSet("help")
	return err
}

func h2aUnknown(in *Input, a string) string {
	s := "unknown flag " + Clean(a) + " ignored"
	if near := DidYouMean(Nearest(strings.TrimLeft(a, "-"), in.flagNames()), "--"); near != "" {
		s += "; " + near
	}
	return s
}

// h2aPut keeps a value. "true" for a flag that needs a value means that none was given.
func (in *Input) h2aPut(place int, val string) error {
	f := in.Verb.At(place)
	switch {
	case f.Kind == TrueSwitch && val != "true":
		return nil
	case f.Kind < Text:
		in.put(place, "true")
		return nil
	}
	in.put(place, val)
	return f.check(val)
}
