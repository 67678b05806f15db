package cmd

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
)

// quotedFields splits a line as a shell does with single quotes, and drops what stands behind "#", "|" and ">".
func quotedFields(line string) (words []string) {
	var b strings.Builder
	quoted, has := false, false
	end := func() {
		if has {
			words = append(words, b.String())
		}
		b.Reset()
		has = false
	}
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, has = !quoted, true
		case quoted:
			b.WriteRune(r)
		case r == '#' || r == '|' || r == '>' || r == ')':
			end()
			return words
		case r == ' ':
			end()
		default:
			b.WriteRune(r)
			has = true
		}
	}
	end()
	return words
}

// TestTable: the help is true: every example parses and names the verb that it explains.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for v := range verbs.Of(kit.Tutti | kit.H2A | kit.Cross) {
		if seen[v.Name] {
			t.Errorf("%s: stands twice in the table", v.Name)
		}
		seen[v.Name] = true
		if v.Short == "" || v.Does == "" || v.Exit == "" || v.Examples == "" || v.Under == 0 || v.Group >= kit.GroupEnd {
			t.Errorf("%s: a part of its help, its names or its group is missing", v.Name)
		}
		if strings.HasSuffix(v.Short, ".") || strings.HasSuffix(v.Exit, ".") {
			t.Errorf("%s: the one line and the exit status end without a full stop, which the page adds", v.Name)
		}
		if v.MaxArgs >= 0 && v.MinArgs > v.MaxArgs || (v.MaxArgs != 0) != (v.Args != "") {
			t.Errorf("%s: %d to %d arguments do not fit %q", v.Name, v.MinArgs, v.MaxArgs, v.Args)
		}
		if len(v.Flags)+len(kit.Globals) > 64 {
			t.Errorf("%s: more flags than bits", v.Name)
		}
		names := map[string]bool{}
		for i := range v.Flags {
			f := &v.Flags[i]
			if names[f.Name] || f.Help == "" || (f.Kind >= kit.Text) != (f.Value != "") {
				t.Errorf("%s --%s: stands twice, has no help, or its value has no name", v.Name, f.Name)
			}
			names[f.Name] = true
		}
		for i := range v.Flags {
			f := &v.Flags[i]
			under := f.Under
			if under == 0 {
				under = v.Under
			}
			if g := (*kit.Verb)(nil).Flag(under, f.Name); g >= 0 {
				t.Errorf("%s --%s: hides a flag that means the same everywhere", v.Name, f.Name)
			}
		}
		checkExamples(t, v)
	}
}

// otherPrograms are those that an example may begin with beside ours. One of ours stands behind them, or the line does
// what the verb does.
var otherPrograms = []string{"cat", "touch", "rm", "zgrep", "git", "make", "source"}

func checkExamples(t *testing.T, v *kit.Verb) {
	t.Helper()
	found := false
	for line := range strings.SplitSeq(v.Examples, "\n") {
		if kit.Width(line) > kit.HelpWidth-len("    ") {
			t.Errorf("%s: the example %q is wider than a terminal", v.Name, line)
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		words := quotedFields(command)
		under, cross := kit.ProgramName(words[0])
		if i := strings.Index(command, "tutti "); slices.Contains(otherPrograms, words[0]) {
			if i < 0 {
				continue
			}
			words = quotedFields(command[i:])
		} else if under == kit.Tutti && words[0] != "tutti" {
			t.Errorf("%s: the example %q begins with an unknown program", v.Name, line)
			continue
		}
		found = true
		in, err := kit.Parse(verbs, under, cross, words[1:])
		if err != nil || in.Verb == nil || in.Verb.Name != v.Name || len(in.Warns) > 0 {
			t.Errorf("%s: the example %q does not work: %v %v", v.Name, line, err, in.Warns)
		}
	}
	if !found {
		t.Errorf("%s: no example that can be pasted", v.Name)
	}
}

// The page of the whole program shows how to begin: those lines must work, too.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	for line := range strings.SplitSeq(docs.MainExamples, "\n") {
		in, err := kit.Parse(verbs, kit.Tutti, "", quotedFields(strings.TrimPrefix(line, "$ "))[1:])
		if err != nil || in.Verb == nil {
			t.Errorf("%q: does not work: %v", line, err)
		}
	}
}

// Exit status is read by help, by manual pages and by the reference: numbers in order, each with its meaning. What is
// named to read next must exist.
func TestTableParts(t *testing.T) {
	t.Parallel()
	for v := range verbs.Of(kit.Tutti | kit.H2A | kit.Cross) {
		for _, under := range [...]kit.Names{kit.Tutti, kit.Cross} {
			last := -1
			for _, row := range docs.ExitRows(docs.ExitOf(v, under)) {
				n, err := strconv.Atoi(row[0])
				if err != nil || n <= last || row[1] == "" {
					t.Errorf("%s: exit status %q: %q is not a number above %d with a meaning", v.Name, docs.ExitOf(v, under), row, last)
				}
				last = n
			}
			if !v.Hidden && !v.Mute && !strings.Contains(docs.ExitOf(v, under), "; 1 ") {
				t.Errorf("%s: exit status %q: a command line may be wrong, and then it is 1", v.Name, docs.ExitOf(v, under))
			}
		}
		for name := range strings.SplitSeq(v.See, ", ") {
			word, sub, _ := strings.Cut(name, " ")
			if next := verbs.Find(kit.Tutti, word, sub); name != "" && (next == nil || next == v || next.Hidden) {
				t.Errorf("%s: there is nothing to read about %q", v.Name, name)
			}
		}
		if w := kit.Width(v.Short); !v.Hidden && w > kit.HelpWidth-docs.OverviewColumn {
			t.Errorf("%s: %q takes %d columns, and a row of the overview has %d", v.Name, v.Short, w, kit.HelpWidth-docs.OverviewColumn)
		}
	}
}

// --as and --instance are one flag, whichever of them help shows. Only inbox put has both: who writes, and into whose mailbox.
func TestActorFlag(t *testing.T) {
	t.Parallel()
	for v := range verbs.Of(kit.Tutti) {
		as, instance := v.Typed(kit.Tutti, "as"), v.Typed(kit.Tutti, "instance")
		if as != instance && v.Name != "inbox put" {
			t.Errorf("%s: --as and --instance are two flags, or one of them is missing", v.Name)
		}
	}
}

// A plain word is not a verb itself, and does what the older word does, behind flags as well.
func TestAliases(t *testing.T) {
	t.Parallel()
	for _, a := range kit.Aliases {
		if verbs.Has(kit.Tutti, a.Word) || !verbs.Has(kit.Tutti, a.For) {
			t.Errorf("%s stands for %s, and one of them is in the wrong place", a.Word, a.For)
		}
	}
	for typed, want := range map[string]string{
		"unhalt": "resume", "reserve take a": "lease take", "blocker raise x": "blockage raise", "watchdog scan": "drumbeat scan",
		"--quiet retire claude:api": "nhi offboard", "--root d reserve list": "lease list",
	} {
		in, err := kit.Parse(verbs, kit.Tutti, "", strings.Fields(typed))
		if err != nil || in.Verb == nil || in.Verb.Name != want {
			t.Errorf("%s: got %v, %v, want %s", typed, in.Verb, err, want)
		}
	}
	if in, err := kit.Parse(verbs, kit.Tutti, "", []string{"send", "reserve", "unhalt"}); err != nil || in.Args[0] != "reserve" || in.Args[1] != "unhalt" {
		t.Errorf("words behind the verb were changed: %q, %v", in.Args, err)
	}
	if in, _ := kit.Parse(verbs, kit.H2A, "", []string{"unhalt"}); in.Verb != nil {
		t.Error("h2a knows a plain word")
	}
}
