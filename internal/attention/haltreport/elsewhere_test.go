package haltreport

import (
	"strconv"
	"strings"
	"testing"
)

// TestElsewhereComesLast: agents of other homes do not hide those that the switch reaches.
func TestElsewhereComesLast(t *testing.T) {
	t.Parallel()
	r := &Report{}
	for n := range 9 {
		r.add(Agent{Name: "other" + strconv.Itoa(n), CLI: "claude", State: Elsewhere, Text: "not reached"})
	}
	r.add(Agent{Name: "api", CLI: "claude", State: Acknowledged, Text: "acknowledged"})
	lines := r.Lines()
	if len(lines) != 5 || !strings.Contains(lines[0], "api") || !strings.Contains(lines[4], "and 6 more") {
		t.Errorf("%q", lines)
	}
}
