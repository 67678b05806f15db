package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// untilSteps are the steps that a sender may wait for, in their order.
var untilSteps = []string{string(mailbox.Pushed), string(mailbox.Offered), string(mailbox.Shown), string(mailbox.Taken)}

// awaitStep says what becomes of a letter that was sent, each step as it comes, until the one of --until has come or --wait is
// over. Where the output is JSON it comes at the end, with all of them.
func (c *Call) awaitStep(ctx context.Context, d *desk, r *mail.Receipt) error {
	if !c.json {
		c.receiptText(r, false)
		if err := c.flush(); err != nil {
			return err
		}
	}
	var last []mailbox.Mark
	said := map[mailbox.Mark]bool{}
	err := c.steps(ctx, d, r, func(marks []mailbox.Mark) error {
		last = marks
		for n := range marks {
			if c.json || said[marks[n]] {
				continue
			}
			said[marks[n]] = true
			c.showMark(&marks[n])
		}
		return c.flush()
	})
	if c.json {
		c.emit(canonjson.Set(c.receiptJSON(r, "", nil), "trace", marksJSON(last)))
		return errors.Join(c.flush(), err)
	}
	return err
}

// steps hands over what is on record of a letter as often as that may have changed.
func (c *Call) steps(ctx context.Context, d *desk, r *mail.Receipt, see func([]mailbox.Mark) error) error {
	until, wait := c.value("until"), c.duration("wait", 0)
	ctx, stop := c.waiting(ctx, wait)
	defer stop()
	look, err := d.Store.Watch(ctx, []store.Scope{{Kind: store.Trail, Name: r.To.Mailbox()}})
	if err != nil && ctx.Err() == nil {
		return err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		marks, err := d.Mail.Trace(context.WithoutCancel(ctx), r.To, r.ID)
		if err == nil {
			err = see(marks)
		}
		if err != nil || reached(marks, until) {
			return err
		}
		select {
		case _, open := <-look:
			if !open {
				look = nil // ctx has ended
			}
		case <-tick.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errWaited) {
				return cause
			}
			return c.nothingCame("not " + until + " within " + wait.String() + "; later " + c.traceOf(r.ID) + " tells")
		}
	}
}

// reached tells whether a message is as far as that step, or further.
func reached(marks []mailbox.Mark, step string) bool {
	from := slices.Index(untilSteps, step)
	return slices.ContainsFunc(marks, func(m mailbox.Mark) bool {
		return slices.Index(untilSteps, string(m.Step)) >= from
	})
}
