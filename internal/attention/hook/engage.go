package hook

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

// waitsForUser tells whether there was a halt since the user of the agent has set it to work, see stopped.
func (e *event) waitsForUser(ctx context.Context) (bool, error) {
	epoch := e.epoch()
	if e.was.Epoch == epoch && epoch != halt.UnknownEpoch {
		return false, nil
	}
	return e.stopped(ctx, epoch)
}

// stopped reports whether a halt has stopped the agent and its user has not let it go on since. The next prompt of its user
// lets it know.
func (e *event) stopped(ctx context.Context, epoch uint64) (bool, error) {
	if epoch == halt.UnknownEpoch {
		_, err := e.o.Memory()
		return true, err
	}
	on, err := e.bus.Office.Engaged(ctx, e.r.Instance)
	switch {
	case err != nil:
		return true, err
	case on:
		return false, e.goesOn(epoch)
	case e.call.Event.Moment != driver.Prompt || e.was.Told == epoch:
		return true, nil
	}
	if err := e.say(clearedLine() + e.remark(" End this one reply", protocol.ClearedRemark)); err != nil {
		return true, err
	}
	return true, e.notes.update(func(n *note) { n.Told = epoch })
}

// goesOn notes that the user of the agent has let it go on after a halt. If the last that it got from us was to stop, it gets a
// note, once, at an event that can show it.
func (e *event) goesOn(epoch uint64) error {
	if e.was.Told == epoch {
		return e.notes.update(func(n *note) { n.Epoch = epoch })
	}
	if m := e.call.Event.Moment; m == driver.Prompt || m == driver.Tool {
		e.lets = epoch
	}
	return nil
}

// unengaged decides whether an agent that was at work when a halt came must stand still although the halt is over: its user has not typed a
// prompt since and has not let it go on. Where nothing was ever halted that costs a look for a file.
func (e *event) unengaged(ctx context.Context) (why string, must bool) {
	switch e.call.Event.Moment {
	case driver.Use, driver.Next, driver.Tool:
	default:
		return "", false
	}
	m, err := e.o.Memory()
	if err != nil || m.Count == 0 || e.call.Conversation == "" || e.o.State == "" || !e.load() {
		return "", false
	}
	if e.was.Epoch == m.Count || e.was.Prompted == m.Count || e.was.Told == m.Count || e.letGoOn(ctx) {
		return "", false
	}
	text := "tutti: all agents were halted"
	if unrecorded, first := m.Ended(); unrecorded {
		text = endedLine
		if first && e.o.Notice != nil {
			e.o.Notice("the halt ended without a recorded lift")
		}
	}
	return text + ". Your user has not let you go on since: no tool runs until then. Stop here.", true
}

// letGoOn tells whether the user of the agent has let it go on after the last halt in another program.
func (e *event) letGoOn(ctx context.Context) bool {
	if e.was.Root == "" || e.was.Instance == "" {
		return false
	}
	b, err := e.o.Open(ctx, BusChoice{Root: e.was.Root, Dir: e.call.Dir})
	if err != nil {
		return false // its user can type a prompt, for which no bus is needed
	}
	defer func() { _ = b.Close() }()
	on, err := b.Office.Engaged(ctx, e.was.Instance)
	return on && err == nil
}

// prompted notes that the user has typed a prompt after the last halt, which lets the agent use tools again.
func (e *event) prompted(known bool, epoch uint64) error {
	if !known || e.call.Event.Moment != driver.Prompt || epoch == halt.UnknownEpoch || e.was.Epoch == epoch || e.was.Prompted == epoch {
		return nil
	}
	return e.notes.update(func(n *note) { n.Prompted = epoch })
}

// endedLine is said of a halt whose switch went away.
const endedLine = "tutti: the halt ended without a recorded lift"

// unrecorded says, once to each agent that was there before, that a halt ended without a recorded lift.
func (e *event) unrecorded(known bool) (said bool, err error) {
	m, err := e.o.Memory()
	if err != nil || !m.Open || known && (e.was.Ended == m.Count || e.was.Epoch == m.Count) {
		return false, nil //nolint:nilerr // it is said where the epoch counts
	}
	if e.call.Event.Moment == driver.Start && !known {
		return false, nil // it has nothing to go on with, and is connected first
	}
	ended, first := m.Ended()
	if !ended {
		return false, nil
	}
	if first && e.o.Notice != nil {
		e.o.Notice("the halt ended without a recorded lift")
	}
	err = e.say(endedLine + ". Ask your user before you go on with what you were doing.")
	if err != nil || !e.said {
		return false, err // this event cannot say it; the next one does
	}
	return true, e.notes.update(func(n *note) { n.Ended, n.Told = m.Count, m.Count })
}
