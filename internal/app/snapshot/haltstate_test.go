package snapshot

import (
	"testing"

	"tutti/internal/attention/haltreport"
	"tutti/internal/attention/overview"
	"tutti/internal/platform/proc"
)

// Each agent has what the halt does to it; of one that the report does not know, nothing is said.
func TestHaltStates(t *testing.T) {
	t.Parallel()
	v := &View{Reached: &haltreport.Report{Agents: []haltreport.Agent{
		{PID: 7, State: haltreport.NoHooks}, {PID: 8, State: haltreport.Denied}, {Instance: "codex:a:000000000001", State: haltreport.Elsewhere}, {PID: 10, State: haltreport.Denied},
	}}}
	add := func(pid int, r overview.Row) { v.Rows = append(v.Rows, Agent{Row: r, Program: proc.ID{PID: pid}}) }
	add(7, overview.Row{Halted: true})
	add(8, overview.Row{Halted: true})
	add(0, overview.Row{Halted: true, Instance: "codex:a:000000000001"})
	add(9, overview.Row{Halted: true})
	add(10, overview.Row{})
	v.haltStates()
	for i, want := range []string{"not stopped: needs halt --kill", "halted", "not reached by the halt", "halt not confirmed", ""} {
		if got := v.Rows[i].HaltWords(); got != want {
			t.Errorf("agent %d: %q, want %q", i, got, want)
		}
	}
}
