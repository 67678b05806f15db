package cli

import (
	"context"
	"errors"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
)

// listHint is what to type when an id is not known.
func (c *Call) listHint() string {
	if c.under == H2A {
		return "" // h2a inbox read needs no hint
	}
	return `"tutti inbox" lists what is there`
}

// runReply answers a message in its thread and acknowledges it.
func runReply(ctx context.Context, c *Call) error {
	if c.arg(0) == "" {
		return usageHint("usage: "+c.usage(), "reply: to which message?")
	}
	var l mail.Draft
	l.ID, l.Deposit = c.value("id"), c.on("deposit")
	if err := c.say(ctx, &l, c.Args[1:]); err != nil {
		return c.unsent(ctx, err)
	}
	d, err := c.speaker(ctx)
	if err != nil {
		return c.unsent(ctx, err)
	}
	defer d.Close()
	m, err := d.Mail.Get(ctx, d.who.Instance, c.arg(0))
	if err != nil {
		return c.unsent(ctx, noMessage(err, c.listHint()))
	}
	l.From, l.To, l.ReplyTo, l.Thread = d.who, m.Envelope.Actor.Instance, m.Envelope.ID, m.Envelope.ThreadID
	r := c.sendOne(ctx, d, &l)
	if r.Outcome != mail.Refused && !m.Archived {
		_, err = d.office.Ack(ctx, d.reader(), []string{m.Envelope.ID})
		if errors.Is(err, mailbox.ErrNoMessage) {
			err = nil // somebody was faster, and that is what was wanted
		}
	}
	if e := c.receipts(ctx, []mail.Receipt{r}, false, letterWord(&l)); e != nil {
		return e
	}
	if err != nil {
		return failWith(err, "the answer is sent; the message was not acknowledged")
	}
	return nil
}

// runAck takes messages away.
func runAck(ctx context.Context, c *Call) error {
	switch all := c.on("all"); {
	case all && len(c.Args) > 0:
		return usagef("ack: either ids or --all, not both")
	case !all && len(c.Args) == 0:
		return usageHint("--all takes everything that was shown", "ack: which message?")
	}
	d, err := c.taker(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if c.on("all") {
		ids, err := d.office.AckShown(ctx, d.reader())
		return errors.Join(c.acked(ids, nil, nil), err)
	}
	var ids []string
	var failed []string
	var errs []error
	for _, id := range c.Args {
		if _, err := d.office.Ack(ctx, d.reader(), []string{id}); err != nil {
			failed, errs = append(failed, id), append(errs, noMessage(err, c.listHint()))
			continue
		}
		ids = append(ids, id)
	}
	if err := c.acked(ids, failed, errs); err != nil {
		return err
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// acked says what was taken.
func (c *Call) acked(ids, failed []string, errs []error) error {
	if c.json {
		var o canonjson.Object
		o.Bool("ok", len(failed) == 0)
		o.Strs("acked", ids)
		var l list
		for n, id := range failed {
			var f canonjson.Object
			f.Str("id", id)
			f.Str("reason", errs[n].Error())
			l.obj(&f)
		}
		o.Raw("failed", l.bytes())
		c.emit(o.Bytes())
		return c.flush()
	}
	for _, id := range ids {
		c.line("acknowledged " + Clean(id))
	}
	if len(ids)+len(failed) == 0 {
		c.line("nothing was shown that is not acknowledged")
	}
	return c.flush()
}
