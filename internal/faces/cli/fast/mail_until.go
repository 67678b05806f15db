package fast

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// untilSteps are the steps that a sender may wait for, in their order.
var untilSteps = []string{string(mailbox.Carried), string(mailbox.Pushed), string(mailbox.Offered), string(mailbox.Shown), string(mailbox.Taken)}

// awaitStep says what becomes of a letter that was sent, each step as it comes, until the one of --until has come or --wait is
// over. Where the output is JSON it comes at the end, with all of them.
func awaitStep(ctx context.Context, c *kit.Call, opt *sendOptions, d *kit.Account, r *mail.Receipt) error {
	if !c.JSON {
		receiptText(c, r, false)
		if err := c.Flush(); err != nil {
			return err
		}
	}
	var last []mailbox.Mark
	said := map[mailbox.Mark]bool{}
	err := steps(ctx, c, opt, d, r, func(marks []mailbox.Mark) error {
		last = marks
		for n := range marks {
			if c.JSON || said[marks[n]] {
				continue
			}
			said[marks[n]] = true
			showMark(c, &marks[n])
		}
		return c.Flush()
	})
	if c.JSON {
		v := viewReceipt(c, r, "")
		v.Trace = render.Each(last, viewMark)
		c.Result(v)
		return errors.Join(c.Flush(), err)
	}
	return err
}

// steps hands over what is on record of a letter as often as that may have changed.
func steps(ctx context.Context, c *kit.Call, opt *sendOptions, d *kit.Account, r *mail.Receipt, see func([]mailbox.Mark) error) error {
	ctx, stop := waiting(ctx, c, opt.Wait)
	defer stop()
	look, err := d.Store.Watch(ctx, []store.Scope{{Kind: store.Trail, Name: r.To.Mailbox()}})
	if err != nil && ctx.Err() == nil {
		return err
	}
	err = poll(ctx, look, func() (bool, error) {
		marks, err := d.Mail.Trace(context.WithoutCancel(ctx), r.To, r.ID)
		if err == nil {
			err = see(marks)
		}
		return reached(marks, opt.Until), err
	})
	if errors.Is(err, errWaited) {
		return nothingCame(c, "not "+opt.Until+" within "+opt.Wait.String()+"; see "+traceOf(c, r.ID))
	}
	return err
}

// reached tells whether a message is as far as that step, or further.
func reached(marks []mailbox.Mark, step string) bool {
	from := slices.Index(untilSteps, step)
	return slices.ContainsFunc(marks, func(m mailbox.Mark) bool {
		return slices.Index(untilSteps, string(m.Step)) >= from
	})
}
