package fast

import (
	"context"
	"errors"

	"tutti/internal/app"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// ListHint is what to type when an id is not known.
func ListHint(c *kit.Call) string {
	if c.Under == kit.H2A {
		return "" // h2a inbox read needs no hint
	}
	return `"tutti inbox" lists your mail; for that of an agent, add --as AGENT`
}

type replyOptions struct {
	Kind, Body, As, ID string
	Deposit            bool
}

// runReply answers a message in its thread and acknowledges it.
func runReply(ctx context.Context, c *kit.Call, opt *replyOptions) error {
	if c.Arg(0) == "" {
		return kit.UsageHint("usage: "+c.Usage(), "reply: missing message id")
	}
	l := mail.Draft{ID: opt.ID, Kind: opt.Kind, Deposit: opt.Deposit}
	if err := say(ctx, c, &l, opt.Body, c.Args[1:]); err != nil {
		return unsent(ctx, c, err)
	}
	d, err := c.Speaker(ctx, opt.As)
	if err != nil {
		return unsent(ctx, c, err)
	}
	defer d.Close()
	m, err := d.Mail.Get(ctx, d.Who.Instance, c.Arg(0))
	if err != nil {
		return unsent(ctx, c, kit.NoMessage(err, replyHint(ctx, c, d)))
	}
	l.From, l.To, l.ReplyTo, l.Thread = d.Who, m.Envelope.Actor.Instance, m.Envelope.ID, m.Envelope.ThreadID
	r := sendOne(ctx, c, d, &l)
	if r.Outcome != mail.Refused && !m.Archived {
		_, err = d.Office.Ack(ctx, d.Reader(), []string{m.Envelope.ID})
		if errors.Is(err, mailbox.ErrNoMessage) {
			err = nil // another process was faster; the message is acknowledged
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

// replyHint is what to type where no message has the id: an agent was named, perhaps.
func replyHint(ctx context.Context, c *kit.Call, d *kit.Account) string {
	name := c.Arg(0)
	if !address.HostQualified(name) {
		return ListHint(c)
	}
	if all, err := d.Registry.Channel(ctx, address.Instance(name).Channel()); err == nil && len(all) > 0 {
		return "reply takes the id of a message; to write to that agent: tutti send " + kit.Clean(app.QuoteArg(name)) + " TEXT"
	}
	return ListHint(c)
}

type ackOptions struct {
	All bool
	As  string
}

// runAck takes messages away.
func runAck(ctx context.Context, c *kit.Call, opt *ackOptions) error {
	switch {
	case opt.All && len(c.Args) > 0:
		return kit.Usagef("ack: either ids or --all, not both")
	case !opt.All && len(c.Args) == 0:
		return kit.UsageHint("to acknowledge everything that was shown: tutti ack --all", "ack: missing message id")
	}
	d, err := c.Receiver(ctx, opt.As)
	if err != nil {
		return err
	}
	defer d.Close()
	if opt.All {
		ids, err := d.Office.AckShown(ctx, d.Reader())
		return errors.Join(acked(c, ids, nil), err)
	}
	var ids []string
	var failed []unacked
	var errs []error
	for _, id := range c.Args {
		if _, err := d.Office.Ack(ctx, d.Reader(), []string{id}); err != nil {
			err = kit.NoMessage(err, ListHint(c))
			failed, errs = append(failed, unacked{id, err.Error()}), append(errs, err)
			continue
		}
		ids = append(ids, id)
	}
	if err := acked(c, ids, failed); err != nil {
		return err
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// An ackReport is what ack prints for programs.
type ackReport struct {
	OK     bool      `json:"ok"`
	Acked  []string  `json:"acked"`
	Failed []unacked `json:"failed"`
}

// An unacked message could not be taken.
type unacked struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// acked says what was taken.
func acked(c *kit.Call, ids []string, failed []unacked) error {
	if c.JSON {
		c.Result(&ackReport{len(failed) == 0, append([]string{}, ids...), append([]unacked{}, failed...)})
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
