package daemon

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/halt"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// lookAnyway is how often the queue is looked at without a hint that anything is new.
const lookAnyway = time.Minute

// away is the part that carries messages to other machines.
func away(ctx context.Context, s *Site) error {
	s.Ready("carries messages to agents on other machines")
	said := map[string]bool{}
	c := remote.Carrier{
		Mail: s.World.Mail, Registry: s.World.Registry, Ring: s.World.Ring, Halted: halt.Check, Now: time.Now, By: "tutti up", Tell: s.carried,
	}
	look, err := s.World.Store.Watch(ctx, []store.Scope{{Kind: store.Outgoing}})
	if err != nil {
		return err
	}
	switched, unlook := s.World.App.HaltLook()
	defer unlook()
	for ctx.Err() == nil {
		next, bad, err := c.Round(ctx)
		if err != nil && !isHalt(err) {
			return err
		}
		for _, b := range bad {
			if text := b.Error(); !said[text] {
				said[text] = true
				s.Fault(text)
			}
		}
		wait := lookAnyway
		if !next.IsZero() {
			wait = min(wait, max(0, time.Until(next)))
		}
		select {
		case <-ctx.Done():
		case _, open := <-look:
			if !open {
				look = nil
			}
		case <-switched:
		case <-time.After(wait):
		}
	}
	return ctx.Err()
}

// carried tells what became of a message to another machine.
func (s *Site) carried(d remote.Carriage) {
	e := Event{Kind: string(d.Step), ID: d.ID, For: d.To, Machine: d.Machine, Why: d.Why}
	switch d.Step {
	case mailbox.Carried:
		e.Text = fmt.Sprintf("carried to %s: a message for %s", d.Machine, d.To)
	case mailbox.Returned:
		e.Text = fmt.Sprintf("refused by %s: %s, a message for %s, id %s", d.Machine, d.Why, d.To, d.ID)
		e.fault = true
	default:
		e.Text = fmt.Sprintf("not carried yet to %s: %s; it is tried again", d.Machine, d.Why)
	}
	s.Tell(e)
}
