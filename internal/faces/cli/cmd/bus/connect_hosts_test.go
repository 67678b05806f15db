package bus

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
)

// connect prints the commands of docs/agents.md, which are tried with the agent CLIs themselves.
func TestConnectCommandsMatchDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range HostFacts {
		rows := liveRows(h.Name, &app.Root{Source: app.FromDefault}, false)
		if line := rows[len(rows)-1][1]; !strings.Contains(string(page), "\n    "+line+"\n") {
			t.Errorf("%s: the page does not have the line %q", h.Name, line)
		}
	}
	for _, d := range driver.All() {
		if FactOf(d.Name) == nil || !slices.Contains(connectHosts, d.Name) {
			t.Errorf("%s is missing somewhere", d.Name)
		}
	}
	if len(HostFacts) != len(driver.All()) || len(connectHosts) != len(HostFacts)+1 {
		t.Errorf("%d, %d programs; driver has %d", len(HostFacts), len(connectHosts), len(driver.All()))
	}
	if rows := liveRows("nobody", &app.Root{}, false); rows != nil {
		t.Errorf("a program that is not known: got %q", rows)
	}
}
