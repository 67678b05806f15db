package status

import (
	"context"
	"errors"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// A carriage is a message to an agent on another machine that was not carried there.
type carriage struct {
	ID      string           `json:"id"`
	From    address.Instance `json:"from"`
	To      address.Instance `json:"to"`
	Machine string           `json:"machine"`
	State   mailbox.Step     `json:"state"` // queued, or returned: the other machine has refused it
	Why     string           `json:"why,omitempty"`
}

// findAway looks at the queue for other machines.
func (v *statusView) findAway(ctx context.Context, w *app.World) error {
	all, _, err := w.Mail.Outgoing(ctx) // tutti up and "tutti store check" name the files that are not messages
	if err != nil {
		return err
	}
	for _, q := range all {
		way := q.State.Way()
		c := carriage{ID: q.ID, From: q.Envelope.Actor.Instance, To: q.To, State: way.Step, Why: way.Result}
		if c.State == "" {
			c.State = mailbox.Queued // the trail serves memory only
		}
		switch reg, err := w.Registry.Registered(ctx, q.To); {
		case err == nil:
			c.Machine = mail.Machine(reg.Away())
		case !errors.Is(err, registry.ErrNotRegistered):
			return err
		}
		v.away = append(v.away, c)
	}
	return nil
}

// awayWaits says what waits for other machines: a line for each machine, and one for each message that was refused.
func (v *statusView) awayWaits() (all []waitLine) {
	type count struct {
		n   int
		why string
	}
	queued, order := map[string]count{}, []string{}
	for _, c := range v.away {
		if c.State == mailbox.Returned {
			all = append(all, waitLine{text: c.Machine + " refused a message for " + v.called(c.To) + ": " + c.Why, command: "tutti thread --trace " + app.QuoteArg(c.ID), actions: todo.Shows("thread", "--trace", c.ID)})
			continue
		}
		if queued[c.Machine].n == 0 {
			order = append(order, c.Machine)
		}
		queued[c.Machine] = count{queued[c.Machine].n + 1, c.Why}
	}
	for _, machine := range order {
		q := queued[machine]
		line := waitLine{text: kit.Plural(q.n, "message") + " queued for " + machine, command: "tutti outbox", actions: todo.Shows("outbox")}
		if q.why != "" {
			line.text += ", not carried yet: " + q.why
		}
		if v.up == nil {
			line.text, line.command, line.actions = line.text+"; nothing carries messages now", "tutti up", nil
		}
		all = append(all, line)
	}
	return all
}
