package status

import (
	"testing"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/faces/tui"
)

func TestLater(t *testing.T) {
	row := func(doing string, guess bool) tui.Agent {
		return tui.Agent{Row: overview.Row{Doing: doing, Guess: guess}}
	}
	for _, c := range []struct {
		agents []tui.Agent
		want   time.Duration
	}{
		{nil, 12 * time.Second},
		{[]tui.Agent{row("working", false), row("", false)}, 12 * time.Second},
		{[]tui.Agent{row("working", false), row("idle", true)}, 4 * time.Second},
		{[]tui.Agent{row("idle", true), row("working", true)}, 2 * time.Second},
	} {
		if got := later(&tui.Snapshot{Agents: c.agents}); got != c.want {
			t.Errorf("%v: %s, want %s", c.agents, got, c.want)
		}
	}
}

// TestSame ignores when agents were seen, and nothing else.
func TestSame(t *testing.T) {
	at := func(when time.Time, unread int) *tui.Snapshot {
		return &tui.Snapshot{At: when, Agents: []tui.Agent{{Row: overview.Row{Agent: "api", Unread: unread, AsOf: when}}}}
	}
	now := time.Now()
	if !same(at(now, 1), at(now.Add(time.Second), 1)) {
		t.Error("the time makes a difference")
	}
	if same(at(now, 1), at(now, 2)) {
		t.Error("unread mail makes none")
	}
}
