package server

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestHaltPage keeps the list of refused tools in docs/halt.md the one that the table of tools makes.
func TestHaltPage(t *testing.T) {
	t.Parallel()
	const begin, end = "are refused, and so is `h2a_inbox` with put or pop: ", ".\n"
	const path = "../../../../docs/halt.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range tools {
		if tools[i].effect == acts {
			names = append(names, "`"+tools[i].name+"`")
		}
	}
	slices.Sort(names)
	_, rest, begun := bytes.Cut(page, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		t.Fatalf("%s has no list of refused tools", path)
	}
	if got, want := strings.Join(strings.Fields(string(rest[:len(rest)-len(after)-len(end)])), " "), strings.Join(names, ", "); got != want {
		t.Errorf("%s lists the tools\n%s\nwant\n%s", path, got, want)
	}
}
