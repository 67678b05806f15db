package cmd

import (
	"bytes"
	"slices"
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

// The overview is for a newcomer: one screen, and no line that a terminal breaks. A verb that makes it too long is named
// only (Rare), or stands in a family.
func TestOverview(t *testing.T) {
	t.Parallel()
	text := helpOf(t, "help")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 24 || len(lines) > 52 {
		t.Errorf("the overview has %d lines, want 24 to 52:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if kit.Width(line) > kit.HelpWidth {
			t.Errorf("%q takes %d columns", line, kit.Width(line))
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	for _, word := range verbs.Words(kit.Tutti, "") {
		if word != "plumbing" && !slices.Contains(words, word) {
			t.Errorf("the overview does not name %s", word)
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
		for _, part := range []string{"Usage: tutti " + v.Name, "\nExample:\n    $ ", "\nExit status:\n  0"} {
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
