package fast

import (
	"context"
	"errors"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

type threadOptions struct {
	ID, Instance string
	Trace        bool
}

// runThread shows a thread, or with --trace what became of its messages.
func runThread(ctx context.Context, c *kit.Call, opt *threadOptions) error {
	id := c.Arg(0)
	if c.Under == kit.H2A {
		id = opt.ID
	}
	switch {
	case id == "" && c.Under == kit.H2A:
		return c.Missing(&opt.ID)
	case id == "":
		return kit.UsageHint("usage: "+c.Usage()+"\n\"tutti inbox\" and \"tutti outbox\" show the ids of messages and threads", "thread: missing <id>")
	}
	d, readers, across, err := c.Readers(ctx, opt.Instance)
	if err != nil || d == nil {
		return c.Empty(err)
	}
	defer d.Close()
	if c.Under == kit.H2A {
		all, bad, err := d.Mail.Thread(ctx, readers[0], id)
		if err != nil {
			return err
		}
		return Messages(ctx, c, d, all, bad, "nothing in this thread", FromOnly)
	}
	read := (*mail.Service).Conversation
	if opt.Trace {
		read = (*mail.Service).Single
	}
	found, err := read(d.Office, ctx, readers, id)
	if across && errors.Is(err, mailbox.ErrNoMessage) {
		if shown, err := elsewhere(ctx, c, d, read, id, opt.Trace); shown || err != nil {
			return err
		}
	}
	switch {
	case err != nil && across:
		return kit.NoMessage(err, "\"tutti keys list\" shows the agents whose keys are here; \"tutti inbox --as AGENT\" lists the mail of one")
	case err != nil:
		return kit.NoMessage(err, ListHint(c))
	}
	return showThread(ctx, c, d, found, opt.Trace, across)
}

func showThread(ctx context.Context, c *kit.Call, d *kit.Account, found *mail.Conversation, trace, across bool) error {
	ends := Ends(FromOnly)
	if across {
		ends = fromTo
	}
	if trace {
		return showTraces(ctx, c, d, found)
	}
	return Messages(ctx, c, d, found.Messages(), found.Unfit, "nothing in this thread", ends)
}

// A threadRead is [mail.Service.Conversation] or Single.
type threadRead func(*mail.Service, context.Context, []address.Instance, string) (*mail.Conversation, error)

// elsewhere shows a thread that the user's agents have on another bus which the user has used.
func elsewhere(ctx context.Context, c *kit.Call, d *kit.Account, read threadRead, id string, trace bool) (shown bool, err error) {
	c.OtherBuses(ctx, d, func(other *kit.Account, readers []address.Instance) error {
		if shown {
			return nil
		}
		found, fault := read(other.Office, ctx, readers, id)
		if fault != nil {
			return fault
		}
		shown = true
		c.Remark("it is on the bus %s", kit.Clean(c.App.Shown(other.Root.Path)))
		err = showThread(ctx, c, other, found, trace, true)
		return nil
	})
	return shown, err
}

// Ends names the sender of a message, and perhaps its recipient.
type Ends func(*envelope.Envelope) string

// FromOnly names the sender of a message, for a reader who is its recipient or its sender.
func FromOnly(e *envelope.Envelope) string { return "from " + kit.Name(e.Actor.Instance) }

// fromTo names both ends of a message.
func fromTo(e *envelope.Envelope) string { return FromOnly(e) + " to " + kit.Name(e.Target) }
