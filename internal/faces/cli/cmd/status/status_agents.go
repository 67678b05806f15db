package status

import (
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app/snapshot"
	"tutti/internal/attention/overview"
	"tutti/internal/halt"
)

// doingText is what an agent does, in words, and since when that is known.
func doingText(v *snapshot.View, r *snapshot.Agent) (text string, since time.Time) {
	text, since = r.Doing, r.Since
	switch {
	case r.Asks != "":
		text += ": " + r.Asks
	case r.Until != "":
		text += " until " + r.Until
	case r.Guess && text != "":
		text += "?"
	case text == "" && r.NoCLI && !r.Halted:
		text = r.Unknown()
	}
	var more []string
	switch m := (overview.Mark{Halted: r.Halted, Paused: r.Paused}); {
	case m.Halted:
		more = append(more, r.HaltWords())
		if text == "" {
			since = v.Halted.Since
		}
	case m.Paused:
		more = append(more, "tools paused")
		if p, ok := halt.Covering(v.Pauses, string(r.Instance), r.Folder); ok && text == "" {
			since = p.Since
		}
	}
	if r.Stopped {
		more = append(more, "stopped by the halt")
	}
	if r.Unread > 0 && r.Bus != "" && !driver.Wakeable(r.Instance.Host()) {
		more = append(more, "cannot be woken")
	}
	if text != "" {
		more = slices.Insert(more, 0, text)
	}
	return strings.Join(more, ", "), since
}
