package mail

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// engagedID is what the line in the trail stands under that says of an agent that its user has let it go on. No line
// about a message is of that step.
func engagedID(i address.Instance) string { return "engaged " + string(i.Canonical()) }

// Engaged tells whether the user of an agent has let it go on since the last halt was met. Without any halt that was never needed, nor of an
// agent that joined after the halt: it was not stopped.
func (o *Service) Engaged(ctx context.Context, i address.Instance) (bool, error) {
	last, err := o.lastHalt()
	if err != nil || last.IsZero() {
		return err == nil, err
	}
	id := engagedID(i)
	states, err := o.Mail.State(ctx, i, []string{id})
	if err != nil || states[id].Engaged.After(last) {
		return err == nil, err
	}
	if o.Halted("look whether "+string(i)+" may go on") != nil {
		return false, nil
	}
	return o.joinedAfter(ctx, i, last)
}

// Stopped tells whether a halt that is over still stops an agent with these live sessions: one of them is from before, and its user has
// not let it go on. Starting it anew lets it go on. A stand-in has no server that a halt could have stopped.
func (o *Service) Stopped(ctx context.Context, i address.Instance, live []*presence.Session) (bool, error) {
	on, err := o.Engaged(ctx, i)
	if err != nil || on {
		return err != nil, err
	}
	last, err := o.lastHalt()
	return err != nil || slices.ContainsFunc(live, func(s *presence.Session) bool {
		at, ok := envelope.ParseTime(s.StartedAt)
		return (!ok || !at.After(last)) && !s.StandsIn()
	}), err
}

// joinedAfter reports whether an agent is new since a time: it was registered later, or, if it is not registered, all its live
// sessions began later.
func (o *Service) joinedAfter(ctx context.Context, i address.Instance, last time.Time) (bool, error) {
	reg, err := o.Registry.Registered(ctx, i)
	if err == nil {
		at, ok := envelope.ParseTime(reg.CreatedAt)
		return ok && at.After(last) && !at.After(o.Now()), nil
	}
	if !errors.Is(err, registry.ErrNotRegistered) {
		return false, err
	}
	there, err := o.Book.Presence.Of(ctx, i, o.Now())
	if err != nil || len(there) == 0 {
		return false, err
	}
	for _, s := range there {
		if at, ok := envelope.ParseTime(s.StartedAt); !ok || !at.After(last) {
			return false, nil
		}
	}
	return true, nil
}

// Engage records that the user of an agent has let it go on: with "tutti resume", or because the agent looks at its mail,
// which it does at its user's word. While the switch is on it does nothing.
func (o *Service) Engage(ctx context.Context, r Reader) error {
	if last, err := o.lastHalt(); err != nil || last.IsZero() {
		return err
	}
	if o.Halted("let "+string(r.Instance)+" go on") != nil {
		return nil
	}
	if on, err := o.Engaged(ctx, r.Instance); err != nil || on {
		return err
	}
	return o.Mail.Step(settle(ctx), r.Instance, mailbox.Mark{
		ID: engagedID(r.Instance), Step: mailbox.Engaged, At: o.Now(), By: string(r.Instance), Session: r.Session,
	})
}

// lastHalt is when the last halt was met; zero: there was none.
func (o *Service) lastHalt() (time.Time, error) {
	memory := o.Memory
	if memory == nil {
		memory = halt.Memory
	}
	e, err := memory()
	if err != nil || e.Count == 0 {
		return time.Time{}, err
	}
	if e.Seen.IsZero() { // it is unknown which agents have gone on since then
		return e.Seen, errUnknownHalt
	}
	return e.Seen, nil
}

// errUnknownHalt reports a memory of halts that was damaged: there was one, and when is not known.
var errUnknownHalt = errors.New(`when the last halt was is not known, so that no agent counts as one whose user has let it go on; your user can write it anew (docs/halt.md)`)
