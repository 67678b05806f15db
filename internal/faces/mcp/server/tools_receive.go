package server

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// A received is what one answer of receive shows.
type received struct {
	OK          bool          `json:"ok"`
	Instance    string        `json:"instance"`
	HaltCleared string        `json:"haltCleared,omitempty"` // once, after a halt: that it is over
	Messages    []messageView `json:"messages"`
	LeftAtLeast bool          `json:"leftAtLeast,omitempty"` // there are more than left says
	Left        int           `json:"left"`                  // messages that are not shown yet
	More        string        `json:"more,omitempty"`        // what to call
	Held        int           `json:"held,omitempty"`        // messages that the user's settings hold back
	HeldWhy     string        `json:"heldWhy,omitempty"`
	Unfit       int           `json:"unfit,omitempty"`  // files that are not messages
	Remark      string        `json:"remark,omitempty"` // where there is none
}

// A tray is what one answer of receive has room for.
type tray struct {
	head     received
	messages []messageView
}

// with is the answer with one more message.
func (t *tray) with(message messageView) any {
	o := t.head
	o.Messages = append(slices.Clone(t.messages), message)
	o.tail(1<<30, 1<<30, 1<<30)
	return o
}

// tail says what the answer does not show.
func (o *received) tail(left, held, unfit int) {
	o.Left, o.Held, o.Unfit = left, held, unfit
	if left > 0 {
		o.More = "call tutti_receive again for the rest"
	}
	if held > 0 {
		o.HeldWhy = "held back by the settings of your user"
	}
}

// takes tells whether there is room for a message, and keeps it. The first one is cut until it fits; another one comes
// whole, or as far as messages are shown at all, or with the next answer.
func (t *tray) takes(item *mail.Item) bool {
	if len(t.messages) == 0 {
		first := fitted(item, maxText, t.with)
		if first != nil {
			t.messages = append(t.messages, *first)
		}
		return first != nil
	}
	whole := viewOf(item, maxText, false)
	if !fits(t.with(whole)) {
		return false
	}
	t.messages = append(t.messages, whole)
	return true
}

// mostMessages is how many messages one answer holds at the most.
const mostMessages = 20

// receive shows what was not shown yet, and with wait what comes first.
func receive(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	head := received{OK: true, Instance: string(own.Instance), Messages: []messageView{}}
	if c.attend.Engage(own.Instance) { // an agent that reads its mail goes on at its user's word
		c.cleared.Store(true)
	}
	if c.cleared.Load() {
		head.HaltCleared = halt.EndText()
		c.whenSent(func() error { c.cleared.Store(false); return nil })
	}
	r := mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}
	if err := c.office.Engage(ctx, r); err != nil {
		c.log(err.Error()) // only hooks stay silent for it
	}
	limit := max(1, c.count("limit", mostMessages, mostMessages))
	if again, _ := canonjson.Bool(c.raw("unacknowledged")); again {
		return c.unacknowledged(ctx, r, head, limit)
	}
	var h *hints
	if wait := c.wait(); wait > 0 {
		var err error
		if h, err = c.hear(ctx, own.Instance, wait); err != nil {
			return nil, err
		}
		defer h.stop()
		defer c.progress(ctx, "waiting for mail")()
	}
	for {
		o, found, err := c.take(ctx, r, head, limit)
		if err != nil || found || h == nil {
			return o, err
		}
		select {
		case <-h.look:
		case <-h.ctx.Done():
			cause := context.Cause(h.ctx)
			if halted, ok := errors.AsType[*halt.Error](cause); ok {
				return nil, halted
			}
			if !errors.Is(cause, errWaited) {
				return nil, cause
			}
			return o, nil
		}
	}
}

// unacknowledged lists the messages that this agent was shown and did not acknowledge, oldest first. It marks nothing.
func (c *call) unacknowledged(ctx context.Context, r mail.Reader, head received, limit int) (any, error) {
	found, unfit, err := c.Mail.List(ctx, r.Instance, mailbox.Query{Exact: true, Brief: true, States: true})
	if err != nil {
		return nil, err
	}
	t := &tray{head: head}
	left := 0
	for _, m := range slices.Backward(found) {
		if !m.State.SeenBy(r.Instance) {
			continue
		}
		if left > 0 || len(t.messages) == limit {
			left++
			continue
		}
		switch err := c.Mail.Load(ctx, m); {
		case errors.Is(err, mailbox.ErrNoMessage), store.IsUnfit(err):
			continue
		case err != nil:
			return nil, err
		}
		item, err := c.let(ctx, r.Instance, m)
		if err != nil {
			continue // the user's settings hold it back by now
		}
		if !t.takes(item) {
			left++
		}
	}
	o := head
	o.Messages, o.Left, o.Unfit = render.List(t.messages), left, len(unfit)
	if left > 0 {
		o.More = "acknowledge or answer some of these, and call again for the rest"
	}
	return o, nil
}

// take claims what one answer has room for behind its head. What it claims was shown when the client has the answer: until
// then it is offered again. found: there was something.
func (c *call) take(ctx context.Context, r mail.Reader, head received, limit int) (o *received, found bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	o = &head
	t := &tray{head: head}
	// What is claimed has to be shown, so that the end of the call does not come in between.
	got, err := c.office.ReceiveWhile(context.WithoutCancel(ctx), r, limit, t.takes)
	if err != nil {
		return nil, false, err
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx) // it was not shown: it is offered again
	}
	o.Messages, o.LeftAtLeast = t.claimed(got), got.More
	o.tail(got.Left, len(got.Held), len(got.Strange))
	if len(got.Items) == 0 && got.Left == 0 {
		o.Remark = `no new mail; {"unacknowledged":true} lists what was shown before`
	}
	if len(got.Items) > 0 {
		c.whenSent(func() error { return c.office.Shown(context.WithoutCancel(ctx), r, got) })
	}
	return o, len(got.Items)+len(got.Held) > 0, nil
}

// claimed are the messages that were got: others may have been faster with some.
func (t *tray) claimed(got *mail.Taken) []messageView {
	mine := map[string]bool{}
	for _, item := range got.Items {
		mine[word(item.Envelope.ID)] = true
	}
	return slices.DeleteFunc(render.List(t.messages), func(v messageView) bool { return !mine[v.ID] })
}
