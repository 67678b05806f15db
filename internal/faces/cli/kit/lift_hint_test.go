package kit

import (
	"strings"
	"testing"

	"tutti/internal/halt"
)

// TestLiftHint: where resume cannot lift a halt, the hint names the path to repair instead.
func TestLiftHint(t *testing.T) {
	const path = "/home/ana/.config/cross-agent-comms/HALT"
	for _, c := range []struct {
		state halt.State
		want  string
	}{
		{halt.State{Halted: true, Path: path}, "tutti resume"},
		{halt.State{Halted: true, Path: path, Unreadable: true, Problem: "is a directory"}, "rm -r '" + path + "'"},
		{halt.State{Halted: true, Path: path, Unreadable: true, Problem: "permission denied"}, "ls -ld '/home/ana/.config/cross-agent-comms'"},
		{halt.State{Halted: true, Unreadable: true}, "set HOME"},
	} {
		if got := LiftHint(c.state); !strings.Contains(got, c.want) {
			t.Errorf("LiftHint(%+v) = %q, want %q in it", c.state, got, c.want)
		}
	}
}
