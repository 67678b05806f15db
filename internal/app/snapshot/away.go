package snapshot

import (
	"context"
	"errors"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/termsafe"
)

// findAway looks at the queue for other machines.
func (v *View) findAway(ctx context.Context, w *app.World) error {
	all, _, err := w.Mail.Outgoing(ctx) // tutti up and "tutti store check" name the files that are not messages
	if err != nil {
		return err
	}
	for _, q := range all {
		way := q.State.Way()
		c := overview.Carriage{ID: q.ID, From: q.Envelope.Actor.Instance, To: q.To, State: way.Step, Why: way.Result}
		if c.State == "" {
			c.State = mailbox.Queued // the trail serves memory only
		}
		switch reg, err := w.Registry.Registered(ctx, q.To); {
		case err == nil:
			c.Machine = mail.Machine(reg.Away())
		case !errors.Is(err, registry.ErrNotRegistered):
			return err
		}
		v.Away = append(v.Away, c)
	}
	return nil
}

// awayWaits says what waits for other machines: a line for each machine, and one for each message that was refused.
func (v *View) awayWaits() (all []Wait) {
	type count struct {
		n   int
		why string
	}
	queued, order := map[string]count{}, []string{}
	for _, c := range v.Away {
		if c.State == mailbox.Returned {
			all = append(all, Wait{Text: c.Machine + " refused a message for " + v.Called(c.To) + ": " + c.Why, Command: "tutti thread --trace " + app.QuoteArg(c.ID), Actions: todo.Shows("thread", "--trace", c.ID)})
			continue
		}
		if queued[c.Machine].n == 0 {
			order = append(order, c.Machine)
		}
		queued[c.Machine] = count{queued[c.Machine].n + 1, c.Why}
	}
	for _, machine := range order {
		q := queued[machine]
		line := Wait{Text: termsafe.Plural(q.n, "message") + " queued for " + machine, Command: "tutti outbox", Actions: todo.Shows("outbox")}
		if q.why != "" {
			line.Text += ", not carried yet: " + q.why
		}
		if v.Up == nil {
			line.Text, line.Command, line.Actions = line.Text+"; nothing carries messages now", "tutti up", nil
		}
		all = append(all, line)
	}
	return all
}
