package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/halt"
)

// send sends one message, and with wait brings the answer to it.
func send(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
	l := mail.Draft{From: own, To: address.Instance(c.text("to")), Text: c.text("text"), Thread: c.text("thread"), ReplyTo: c.text("replyTo"), Near: c.app.Workplace().Path}
	if n := max(len(l.Thread), len(l.ReplyTo)); n > maxWord {
		return nil, c.refuse("tutti_receive and tutti_send name the thread and the id of each message", "an id of %d bytes; none has more than %d", n, maxWord)
	}
	if l.Thread == "" && l.ReplyTo != "" {
		if m, err := c.Mail.Find(ctx, own.Instance, l.ReplyTo); err == nil {
			l.Thread = m.Envelope.ThreadID
		}
	}
	wait := c.wait()
	var h *hints
	if wait > 0 {
		var err error
		if h, err = c.hear(ctx, own.Instance, wait); err != nil { // before it is sent: the answer may be fast
			return nil, err
		}
		defer h.stop()
	}
	r, err := c.office.Send(ctx, l)
	if err != nil {
		return nil, err
	}
	c.deposited(c.bus, own, &r)
	o := c.receipt(ctx, &r, "")
	if wait > 0 {
		c.answer(ctx, h, own, &r, o, wait)
	}
	return o, nil
}

// receipt is what became of a letter.
func (c *call) receipt(ctx context.Context, r *mail.Receipt, remark string) *canonjson.Object {
	var o canonjson.Object
	reads := mail.ReadsCarried
	if r.Outcome != mail.Queued {
		reads = c.office.Outlook(context.WithoutCancel(ctx), r.To).Reads
	} else if root, err := c.app.Root(); err == nil && remark == "" && app.RunningUp(c.app, root.Path) != nil {
		remark = "it is on another machine; tutti up runs and carries the message there"
	}
	o.Bool("ok", true)
	o.Str("outcome", string(r.Outcome))
	o.Str("id", r.ID)
	o.Opt("thread", word(r.Thread)) // an answer goes on with the peer's, which may be of any length
	o.Str("to", string(r.To))
	if r.Asked != r.To {
		o.Str("asked", string(r.Asked))
	}
	o.Bool("live", r.Live > 0)
	o.Str("reads", string(reads))
	if !r.Stored.IsZero() {
		o.Str("stored", envelope.Stamp(r.Stored))
	}
	o.Str("trace", "tutti thread --trace "+r.ID) // ids of ours need no quotes
	o.Opt("reason", r.Decision.Reason)
	if r.Outcome == mail.Deposited && r.Decision.Reason == "" {
		o.Str("reason", "it has no live session now; the message waits until it starts")
	}
	o.Opt("remark", cmp.Or(remark, readsRemark[reads]))
	return &o
}

// readsRemark says what a sender has to know of a reader that is not woken.
var readsRemark = map[mail.Reads]string{
	mail.ReadsLater:   "nothing wakes this agent: the message waits until it looks, at its next prompt",
	mail.ReadsStopped: "a halt stopped this agent, and it is not woken: the message waits until its user has let it go on",
	mail.ReadsPaused:  "the user has paused this agent, and it is not woken: the message waits until the pause ends",
	mail.ReadsCarried: "it is on another machine; the message waits here until your user runs: tutti up",
	mail.ReadsUnknown: "no agent has this id: most likely the message is never read",
}

// answer waits for the reply to a letter and adds it. What comes after the message was sent must not undo that, so an answer
// that does not come is no error.
func (c *call) answer(ctx context.Context, h *hints, own *identity.Speaker, r *mail.Receipt, o *canonjson.Object, wait time.Duration) {
	stop := c.progress(ctx, "waiting for the answer")
	defer stop()
	reader := mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}
	item, err := c.office.Answer(h.ctx, reader, r.To, r.ID, h.look)
	if err != nil {
		o.Null("answer")
		o.Str("waited", noAnswer(h, wait, err))
		return
	}
	around := func(message []byte) []byte {
		with := copyOf(o)
		with.Raw("answer", message)
		return with.Bytes()
	}
	raw := fitted(item, maxText, around)
	if raw == nil || ctx.Err() != nil || c.office.Claim(context.WithoutCancel(ctx), reader, item) != nil {
		o.Null("answer")
		o.Str("waited", "the answer is there; tutti_receive shows it")
		return
	}
	o.Raw("answer", raw)
	o.Bool("acknowledged", true)
	c.whenSent(func() error {
		ctx := context.WithoutCancel(ctx)
		if err := c.office.Shown(ctx, reader, &mail.Taken{Items: []mail.Item{*item}}); err != nil {
			return err
		}
		_, err := c.office.Ack(ctx, reader, []string{item.ID})
		if errors.Is(err, mailbox.ErrNoMessage) {
			return nil // another connection of this agent was faster
		}
		return err
	})
}

// noAnswer says why there is none.
func noAnswer(h *hints, wait time.Duration, err error) string {
	switch halted, ok := errors.AsType[*halt.Error](context.Cause(h.ctx)); {
	case ok:
		return halt.Refused + " " + halted.Error()
	case h.ctx.Err() != nil:
		return fmt.Sprintf("no answer within %s; when it comes, tutti_receive shows it", wait)
	}
	return "the answer could not be waited for: " + termsafe.Cut(err.Error(), maxWord)
}

// reply answers a message in its thread and acknowledges it.
func reply(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
	reader := mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}
	id := c.text("id")
	r, err := c.office.Reply(ctx, reader, id, mail.Draft{From: own, Text: c.text("text")})
	if err != nil && r.Outcome == mail.Refused {
		return nil, err
	}
	c.deposited(c.bus, own, &r)
	remark := ""
	if err != nil {
		remark = "the answer was sent; the message itself is still in the mailbox: " + termsafe.Cut(err.Error(), maxWord)
	}
	o := c.receipt(ctx, &r, remark)
	o.Str("replyTo", id)
	o.Bool("acknowledged", err == nil)
	return o, nil
}

// maxIDs is how many messages one call may acknowledge: as many as one answer can name.
const maxIDs = 50

// ack puts messages away.
func ack(ctx context.Context, c *call) (*canonjson.Object, error) {
	raw := c.raw("ids")
	ids, ok := canonjson.Strings(raw)
	if one, single := canonjson.String(raw); single && one != "" {
		ids, ok = []string{one}, true
	}
	if !ok || len(ids) == 0 {
		return nil, c.missing("ids")
	}
	if len(ids) > maxIDs {
		return nil, c.refuse("", "%d ids at once; at most %d", len(ids), maxIDs)
	}
	own, err := c.speaker(ctx, c.bus, false)
	if err != nil {
		return nil, err
	}
	reader := mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}
	var acked, gone []string
	var failed [][]byte
	for _, id := range ids {
		done, err := c.office.Ack(ctx, reader, []string{id})
		switch {
		case len(done) > 0:
			acked = append(acked, id)
		case errors.Is(err, mailbox.ErrNoMessage):
			gone = append(gone, termsafe.Cut(id, maxID))
		case err != nil && len(ids) == 1:
			return nil, err
		case err != nil:
			var o canonjson.Object
			o.Str("id", termsafe.Cut(id, maxID))
			o.Str("why", termsafe.Cut(err.Error(), maxID))
			failed = append(failed, o.Bytes())
		}
	}
	if len(acked) == 0 && len(failed) == 0 {
		return nil, c.refuse("they may be acknowledged already: tutti_read shows a message wherever it lies", "no such message in your mailbox: %s", gone[0])
	}
	var o canonjson.Object
	o.Bool("ok", len(failed) == 0)
	o.Int("count", int64(len(acked)))
	clipped := make([]string, len(acked))
	for n, id := range acked {
		clipped[n] = termsafe.Cut(id, maxID)
	}
	o.Strs("acknowledged", clipped)
	if len(gone) > 0 {
		o.Strs("notThere", gone)
	}
	if len(failed) > 0 {
		o.Raw("failed", array(failed))
	}
	if !wire.Fits(o.Bytes()) {
		var short canonjson.Object
		short.Bool("ok", len(failed) == 0)
		short.Int("count", int64(len(acked)))
		short.Int("notThere", int64(len(gone)))
		short.Int("failed", int64(len(failed)))
		return &short, nil
	}
	return &o, nil
}

// maxID is how much of an id is repeated where there may be many.
const maxID = 100

func now() time.Time { return time.Now() }
