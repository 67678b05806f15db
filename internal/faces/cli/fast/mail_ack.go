package fast

import (
	"context"
	"errors"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

// ListHint is what to type when an id is not known.
func ListHint(c *kit.Call) string {
	if c.Under == kit.H2A {
		return "" // h2a inbox read needs no hint
	}
	return `"tutti inbox" lists what is there`
}

// runReply answers a message in its thread and acknowledges it.
func runReply(ctx context.Context, c *kit.Call) error {
	if c.Arg(0) == "" {
		return kit.UsageHint("usage: "+c.Usage(), "reply: to which message?")
	}
	var l mail.Draft
	l.ID, l.Deposit = c.Value("id"), c.On("deposit")
	if err := say(ctx, c, &l, c.Args[1:]); err != nil {
		return unsent(ctx, c, err)
	}
	d, err := c.Speaker(ctx)
	if err != nil {
		return unsent(ctx, c, err)
	}
	defer d.Close()
	m, err := d.Mail.Get(ctx, d.Who.Instance, c.Arg(0))
	if err != nil {
		return unsent(ctx, c, kit.NoMessage(err, ListHint(c)))
	}
	l.From, l.To, l.ReplyTo, l.Thread = d.Who, m.Envelope.Actor.Instance, m.Envelope.ID, m.Envelope.ThreadID
	r := sendOne(ctx, c, d, &l)
	if r.Outcome != mail.Refused && !m.Archived {
		_, err = d.Office.Ack(ctx, d.Reader(), []string{m.Envelope.ID})
		if errors.Is(err, mailbox.ErrNoMessage) {
			err = nil // somebody was faster, and that is what was wanted
		}
	}
	if e := showReceipts(ctx, c, []mail.Receipt{r}, false, letterWord(&l)); e != nil {
		return e
	}
	if err != nil {
		return kit.FailWith(err, "the answer is sent; the message was not acknowledged")
	}
	return nil
}

// runAck takes messages away.
func runAck(ctx context.Context, c *kit.Call) error {
	switch all := c.On("all"); {
	case all && len(c.Args) > 0:
		return kit.Usagef("ack: either ids or --all, not both")
	case !all && len(c.Args) == 0:
		return kit.UsageHint("--all takes everything that was shown", "ack: which message?")
	}
	d, err := c.Receiver(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if c.On("all") {
		ids, err := d.Office.AckShown(ctx, d.Reader())
		return errors.Join(acked(c, ids, nil, nil), err)
	}
	var ids []string
	var failed []string
	var errs []error
	for _, id := range c.Args {
		if _, err := d.Office.Ack(ctx, d.Reader(), []string{id}); err != nil {
			failed, errs = append(failed, id), append(errs, kit.NoMessage(err, ListHint(c)))
			continue
		}
		ids = append(ids, id)
	}
	if err := acked(c, ids, failed, errs); err != nil {
		return err
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// acked says what was taken.
func acked(c *kit.Call, ids, failed []string, errs []error) error {
	if c.JSON {
		var o canonjson.Object
		o.Bool("ok", len(failed) == 0)
		o.Strs("acked", ids)
		var l kit.List
		for n, id := range failed {
			var f canonjson.Object
			f.Str("id", id)
			f.Str("reason", errs[n].Error())
			l.Obj(&f)
		}
		o.Raw("failed", l.Bytes())
		c.Emit(o.Bytes())
		return c.Flush()
	}
	for _, id := range ids {
		c.Line("acknowledged " + kit.Clean(id))
	}
	if len(ids)+len(failed) == 0 {
		c.Line("nothing was shown that is not acknowledged")
	}
	return c.Flush()
}
