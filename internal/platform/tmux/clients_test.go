package tmux

import (
	"fmt"
	"testing"
	"time"
)

// TestFocused: a terminal that has the focus shows a pane, another pane, and then loses the focus.
func TestFocused(t *testing.T) {
	t.Parallel()
	w, outer := start(t), start(t)
	first := w.new("agents")
	is := func(p Pane, since time.Time) bool {
		t.Helper()
		seen, err := w.Focused(t.Context(), p, since)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	ago := time.Now().Add(-time.Hour)
	if is(first, ago) {
		t.Error("without a terminal")
	}
	w.do("set", "-g", "focus-events", "on")
	outer.do("new-window", "-n", "terminal", "env", "-u", "TMUX", "tmux", "-u", "-L", w.name, "attach", "-t", "agents")
	until := func(what string, want bool, p Pane) {
		t.Helper()
		eventually(t, func() (string, bool) { return fmt.Sprintf("%s: not %v", what, want), is(p, ago) == want })
	}
	until("attached", true, first)
	focus := func(report string) { outer.do("send-keys", "-t", "first:terminal", "-H", "1b", "5b", report) } // as a terminal reports it
	focus("49")
	if is(first, time.Now().Add(time.Hour)) {
		t.Error("a terminal that was not used since")
	}
	w.do("split-window", "-t", "agents", "cat")
	until("another pane is active", false, first)
	w.do("select-pane", "-t", first.ID)
	until("the pane is active again", true, first)
	w.do("new-window", "-t", "agents", "cat")
	until("another window", false, first)
	w.do("last-window", "-t", "agents")
	until("the window again", true, first)
	focus("4f")
	until("the terminal lost the focus", false, first)
	focus("49")
	until("the terminal has the focus again", true, first)
}
