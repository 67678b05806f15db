package cmd

import (
	"bytes"
	"strings"
	"testing"

	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
)

// helpOf runs a command line of tutti that asks for no bus and returns what it printed.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	in, err := kit.Parse(verbs, kit.Tutti, "", args)
	var out, errs bytes.Buffer
	c := kit.NewCall(in, fullProgram)
	c.OutFile, c.ErrFile, c.Columns, c.Color = &out, &errs, 0, false
	if status := c.Finish(c.Perform(fullProgram, err)); status != kit.ExitOK || errs.Len() > 0 {
		t.Fatalf("tutti %q: exit status %d, %q", args, status, errs.String())
	}
	return out.String()
}

// The overview is for a newcomer: the verbs of a normal day. What it leaves out, "help more" lists. No line is wider than a terminal.
func TestOverview(t *testing.T) {
	t.Parallel()
	first, rest := helpOf(t, "help"), helpOf(t, "help", "more")
	if n := strings.Count(first, "\n"); n > 20 {
		t.Errorf("the overview has %d lines:\n%s", n, first)
	}
	if !strings.HasSuffix(first, "\n\"tutti help more\"         lists the other verbs by subject\n") {
		t.Errorf("the overview does not end with help more:\n%s", first)
	}
	named := map[string]int{}
	for line := range strings.Lines(first + rest) {
		if kit.Width(strings.TrimSuffix(line, "\n")) > kit.HelpWidth {
			t.Errorf("%q takes %d columns", line, kit.Width(line))
		}
		if words := strings.Fields(line); strings.HasPrefix(line, "  ") && line[2] != ' ' {
			named[words[0]]++
		}
	}
	for _, word := range verbs.Words(kit.Tutti, "") {
		if plain := kit.AliasOf(word); plain != "" && word != "resume" {
			word = plain
		}
		if word != "plumbing" && named[word] != 1 {
			t.Errorf("the overview and help more list %s %d times, want once", word, named[word])
		}
	}
}

// The help of every verb fits a terminal, is the same by either way to ask for it, and has all its parts.
func TestVerbHelp(t *testing.T) {
	t.Parallel()
	all := helpOf(t, "help", "--all")
	for v := range verbs.Of(kit.Tutti) {
		words := strings.Fields(v.Name)
		text := helpOf(t, append([]string{"help"}, words...)...)
		if other := helpOf(t, append(words, "--help")...); other != text {
			t.Errorf("tutti help %s and tutti %s --help differ:\n%s\n%s", v.Name, v.Name, text, other)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if kit.Width(line) > kit.HelpWidth {
				t.Errorf("help %s: %q takes %d columns", v.Name, line, kit.Width(line))
			}
		}
		usage := "Usage: tutti " + v.Name
		if plain := kit.PlainName(v.Name); plain != "" && v.Family() != "" {
			usage = "Usage: tutti " + plain
		}
		for _, part := range []string{usage, "\nExample:\n    $ ", "\nExit status:\n  0"} {
			if !strings.Contains(text, part) {
				t.Errorf("help %s lacks %q:\n%s", v.Name, part, text)
			}
		}
		if strings.Contains(all, "\n  "+v.Name+" ") == v.Hidden {
			t.Errorf("help --all: %s: hidden is %v", v.Name, v.Hidden)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 7, "one two|three"},
		{"one\ntwo", 10, "one two"},
		{"a\n\nb c", 1, "a||b|c"},
		{"a-word-that-is-wider than", 6, "a-word-that-is-wider|than"},
		{"日本 語", 5, "日本|語"},
		{"see " + docs.Unbroken("store list") + ", x", 12, "see|store list,|x"},
	} {
		if got := strings.Join(docs.Fill(tc.text, tc.width), "|"); got != tc.want {
			t.Errorf("fill %q to %d: got %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}
