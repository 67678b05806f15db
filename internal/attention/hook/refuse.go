package hook

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/hookmark"
	"tutti/internal/halt"
)

// refused decides whether the agent must stand still at this event, and says why. Every event asks here, and nowhere else.
func (e *event) refused() (why string, must bool) {
	s := e.o.Switch()
	if s.Path == "" { // an unknown home folder has no switch: that is a fault of the set-up, and not a halt
		return "", false
	}
	if e.halts = s.Halted; !s.Halted {
		return e.paused()
	}
	return haltLine(s), true
}

// paused tells whether a pause covers the agent or its folder. Without any pause that costs one system call.
func (e *event) paused() (why string, must bool) {
	dir := e.call.Dir
	if dir == "" { // damaged input
		dir, _ = os.Getwd()
	}
	p, must := halt.PausedFor("", dir)
	if !must && len(halt.Pauses()) > 0 && e.o.State != "" {
		who := string(e.r.Instance)
		if who == "" && e.load() {
			who = string(e.was.Instance)
		}
		if who == "" {
			who = e.o.Env("TUTTI_INSTANCE")
		}
		p, must = halt.PausedFor(who, dir)
	}
	if !must {
		return "", false
	}
	text := "tutti: " + short(p.What(), maxNotice) + " is paused"
	if !p.Since.IsZero() {
		text += " since " + p.Since.UTC().Format(time.RFC3339)
	}
	switch {
	case p.Problem != "":
		text += ", and the reason cannot be read (" + short(p.Problem, maxNotice) + ")"
	case p.Reason != "":
		text += ": " + short(p.Reason, maxNotice)
	}
	return text + ". No tool runs and no prompt is answered here; other agents go on. Stop here.", true
}

// haltLine says who halted, since when and why. How a halt is lifted is nothing for an agent to read.
func haltLine(s halt.State) string {
	if s.Unreadable {
		text := "tutti: the halt switch cannot be read"
		if s.Problem != "" {
			text += " (" + short(s.Problem, maxNotice) + ")"
		}
		return text + ", so that everything counts as halted. No tool runs and no prompt is answered. Stop here."
	}
	text := "tutti: halted"
	if s.By != "" {
		text += " by " + s.By
	}
	if !s.Since.IsZero() {
		text += " since " + s.Since.UTC().Format(time.RFC3339)
	}
	if s.Reason != "" {
		text += ": " + short(s.Reason, maxNotice)
	}
	return text + ". Your user has stopped all agents: no tool runs and no prompt is answered. Stop here."
}

// deny stops the agent as far as the event can. The answer comes first: nothing that can fail is done before it. A conversation that
// begins now is remembered as one that was stopped.
func (e *event) deny(why string) error {
	if a, ok := e.hooks.Deny(e.call.Event, why); ok {
		e.said = true
		if _, err := e.o.Out.Write(a.Out); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		e.acked = e.halts && !a.Told
	}
	if !e.halts {
		return nil // a pause is not a halt: the conversation goes on when it ends
	}
	switch e.call.Event.Moment {
	case driver.Start, driver.Prompt, driver.Tool, driver.Stop:
	default:
		return nil
	}
	if e.o.State == "" {
		return nil
	}
	if epoch := e.epoch(); e.call.Conversation != "" && !e.call.Helper && !e.load() && epoch != halt.UnknownEpoch {
		return e.notes.update(func(n *note) { n.Epoch = max(epoch, 1) - 1 })
	}
	return nil
}

// mark records that a hook was seen in the process of the agent CLI, and that it saw a halt.
func (e *event) mark(err *error) {
	if e.o.Process == nil || e.o.State == "" || e.call.Event.Moment == driver.End {
		return
	}
	id, ok := e.o.Process()
	if !ok {
		return
	}
	m := hookmark.Mark{
		PID: id.PID, Start: id.Start, Boot: id.Boot, CLI: e.o.Driver.Name, Build: e.o.Build, Denies: e.o.Denies,
		Conversation: e.call.Conversation, Dir: e.call.Dir, Instance: string(e.r.Instance), At: e.now,
		Events: e.call.Event.Name,
	}
	switch e.call.Event.Moment {
	case driver.Start, driver.Prompt, driver.Ask, driver.Stop:
		m.Last, m.LastAt = m.Events, e.now
	}
	if e.acked {
		if epoch := e.epoch(); epoch != halt.UnknownEpoch {
			m.Acked = epoch
		}
	}
	*err = errors.Join(*err, hookmark.Record(e.o.State, m))
}
