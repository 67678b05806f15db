package cmd

import (
	"os"
	"strings"
	"testing"
)

// TestPageOfAgreements: the page shows what a script runs, line for line and in the same order.
func TestPageOfAgreements(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/agreements.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/negotiate_page.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```console\n")
	block, _, _ = strings.Cut(block, "```")
	block = strings.ReplaceAll(block, " \\\n    ", " ") // a command goes on in the next line
	rest, ran := string(script), 0
	for line := range strings.Lines(block) {
		want := "stdout '^" + strings.TrimSpace(line) + "$'\n"
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			want = "exec " + command
		}
		before, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("the script does not run %q after what it ran before:\n%s", want, before)
			continue
		}
		rest = after
		ran++
	}
	if ran < 9 {
		t.Errorf("%d lines of the page were run", ran)
	}
}
