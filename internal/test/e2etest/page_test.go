//go:build e2e

package e2etest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What the tests type and write is what docs/agents.md shows, so that a user who follows the page does what was tried.

// shown is the line of code on the page that begins like this, with its line feed.
func shown(t *testing.T, begin string) string {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(raw)) {
		if code := strings.TrimLeft(line, " "); strings.HasPrefix(line, "    ") && strings.HasPrefix(code, begin) {
			found = append(found, code)
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/agents.md shows %d lines that begin with %q: %q", len(found), begin, found)
	}
	return found[0]
}

// typed has a shell run the line of the page that begins like this, in the project, with the program under the name that
// users know it by. Where this desk starts the server in another way, that stands in place of the way of the page.
func (d desk) typed(t *testing.T, begin string) {
	t.Helper()
	line := shown(t, begin)
	if usual := usually(d.agent); !slices.Equal(usual, d.serve) {
		before, after, ok := cutCommand(line, usual)
		if !ok {
			t.Fatalf("docs/agents.md: %q does not start the server with %q", line, usual)
		}
		line = before + d.serve[0] + after + strings.Join(d.serve[1:], " ") + "\n"
	}

	shell := d.command(t)
	name, _, _ := strings.Cut(begin, " ")
	line = name + "() { " + strings.Join(shell.Args, " ") + " \"$@\"; }\n" + line
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-c", line}
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// usually is how users have the server started.
func usually(a agent) []string {
	return []string{"tutti", "mcp-serve", "--auto-open", "--host", a.host}
}

// cutCommand takes the command at the end of a line out of it: what is before its first word, and what is between that and
// its arguments, which is a space, or a space and the mark that no flag of the line's own program follows.
func cutCommand(line string, command []string) (before, between string, ok bool) {
	rest, ok := strings.CutSuffix(line, strings.Join(command[1:], " ")+"\n")
	if !ok {
		return "", "", false
	}
	for _, between := range []string{" -- ", " "} {
		if before, ok := strings.CutSuffix(rest, command[0]+between); ok {
			return before, between, true
		}
	}
	return "", "", false
}
