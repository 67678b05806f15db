package server

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// A tray is what one answer of receive has room for.
type tray struct {
	head     *canonjson.Object
	messages [][]byte
}

// with is the answer with one more message.
func (t *tray) with(message []byte) []byte {
	o := copyOf(t.head)
	all := t.messages
	if message != nil {
		all = append(all[:len(all):len(all)], message)
	}
	o.Raw("messages", array(all))
	tail(o, 1<<30, 1<<30, 1<<30)
	return o.Bytes()
}

// tail says what the answer does not show.
func tail(o *canonjson.Object, left, held, unfit int) {
	o.Int("left", int64(left))
	if left > 0 {
		o.Str("more", "call tutti_receive again for the rest")
	}
	if held > 0 {
		o.Int("held", int64(held))
		o.Str("heldWhy", "held back by the settings of your user")
	}
	if unfit > 0 {
		o.Int("unfit", int64(unfit))
	}
}

// takes tells whether there is room for a message, and keeps it. The first one is cut until it fits; another one comes
// whole, or as far as messages are shown at all, or with the next answer.
func (t *tray) takes(item *mail.Item) bool {
	var raw []byte
	if len(t.messages) == 0 {
		raw = fitted(item, maxText, t.with)
	} else if whole := messageJSON(item, maxText, false); wire.Fits(t.with(whole)) {
		raw = whole
	}
	if raw == nil {
		return false
	}
	t.messages = append(t.messages, raw)
	return true
}

// mostMessages is how many messages one answer holds at the most.
const mostMessages = 20

// receive shows what was not shown yet, and with wait what comes first.
func receive(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
	head := new(canonjson.Object)
	head.Bool("ok", true)
	head.Str("instance", string(own.Instance))
	if c.attend.Engage(own.Instance) { // whoever looks at its mail goes on at its user's word
		c.cleared.Store(true)
	}
	if c.cleared.Load() {
		head.Str("haltCleared", halt.EndText())
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
func (c *call) unacknowledged(ctx context.Context, r mail.Reader, head *canonjson.Object, limit int) (*canonjson.Object, error) {
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
	o := copyOf(head)
	o.Raw("messages", array(t.messages))
	o.Int("left", int64(left))
	if left > 0 {
		o.Str("more", "acknowledge or answer some of these, and call again for the rest")
	}
	if len(unfit) > 0 {
		o.Int("unfit", int64(len(unfit)))
	}
	return o, nil
}

// take claims what one answer has room for behind its head. What it claims was shown when the client has the answer: until
// then it is offered again. found: there was something.
func (c *call) take(ctx context.Context, r mail.Reader, head *canonjson.Object, limit int) (o *canonjson.Object, found bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	o = copyOf(head)
	t := &tray{head: head}
	// What is claimed has to be shown, so that the end of the call does not come in between.
	got, err := c.office.ReceiveWhile(context.WithoutCancel(ctx), r, limit, t.takes)
	if err != nil {
		return nil, false, err
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx) // nobody is shown it: it is offered again
	}
	o.Raw("messages", array(t.claimed(got)))
	if got.More {
		o.Bool("leftAtLeast", true)
	}
	tail(o, got.Left, len(got.Held), len(got.Strange))
	if len(got.Items) == 0 && got.Left == 0 {
		o.Str("remark", "no new mail; {\"unacknowledged\":true} lists what was shown before")
	}
	if len(got.Items) > 0 {
		c.whenSent(func() error { return c.office.Shown(context.WithoutCancel(ctx), r, got) })
	}
	return o, len(got.Items)+len(got.Held) > 0, nil
}

// claimed are the messages that were got: others may have been faster with some.
func (t *tray) claimed(got *mail.Taken) [][]byte {
	mine := map[string]bool{}
	for _, item := range got.Items {
		mine[word(item.Envelope.ID)] = true
	}
	var all [][]byte
	for _, raw := range t.messages {
		if id, _ := canonjson.Get(raw, "id"); mine[textOf(id)] {
			all = append(all, raw)
		}
	}
	return all
}

func textOf(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}
