package cli

import (
	"os"
	"strings"
	"testing"

	"tutti/internal/app"
)

// What connect says to type is what docs/agents.md says, which is tried with the programs themselves.
func TestLiveRowsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hostFacts {
		rows := liveRows(h.name, &app.Root{Source: app.FromDefault})
		if line := rows[len(rows)-1][1]; h.add != "" && !strings.Contains(string(page), "\n    "+line+"\n") {
			t.Errorf("%s: the page does not have the line %q", h.name, line)
		}
	}
	if rows := liveRows("nobody", &app.Root{}); rows != nil {
		t.Errorf("a program that is not known: got %q", rows)
	}
}
