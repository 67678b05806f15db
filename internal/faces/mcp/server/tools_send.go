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
	"tutti/internal/halt"
)

// send sends one message, and with wait brings the answer to it.
func send(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	l := mail.Draft{From: own, To: address.Instance(c.text("to")), Text: c.text("text"), Thread: c.text("thread"), ReplyTo: c.text("replyTo"), Near: c.app.Workplace().Path}
	if n := max(len(l.Thread), len(l.ReplyTo)); n > maxWord {
		return nil, c.refuse("tutti_receive and tutti_send name the thread and the id of each message", "an id of %d bytes; none has more than %d", n, maxWord)
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
	r, err := c.office.SendOnce(ctx, l)
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

// A receipt is what became of a message.
type receipt struct {
	OK      bool         `json:"ok"`
	Outcome mail.Outcome `json:"outcome"` // delivered, deposited or queued
	ID      string       `json:"id"`
	Thread  string       `json:"thread,omitempty"`
	To      string       `json:"to"`
	Asked   string       `json:"asked,omitempty"` // the address as it was given, where that is not to
	Live    bool         `json:"live"`
	Reads   mail.Reads   `json:"reads"` // when the agent looks at it
	Stored  string       `json:"stored,omitempty"`
	Trace   string       `json:"trace"` // the command that shows what became of it
	Reason  string       `json:"reason,omitempty"`
	Remark  string       `json:"remark,omitempty"`

	ReplyTo      string        `json:"replyTo,omitempty"`      // of a reply: the message that it answers
	Answer       **messageView `json:"answer,omitempty"`       // with wait: the reply; null: none came in time
	Waited       string        `json:"waited,omitempty"`       // why there is no reply
	Acknowledged *bool         `json:"acknowledged,omitempty"` // the message that was answered, or the reply, is out of the mailbox
}

// receipt is what became of a letter.
func (c *call) receipt(ctx context.Context, r *mail.Receipt, remark string) *receipt {
	c.office.Expect(ctx, r, "", nil)
	reads := r.Outlook.Reads
	if root, err := c.app.Root(); r.Outcome == mail.Queued && err == nil && remark == "" && app.RunningUp(c.app, root.Path) != nil {
		remark = "it is on another machine; tutti up runs and carries the message there"
	}
	o := &receipt{
		OK: true, Outcome: r.Outcome, ID: r.ID, To: string(r.To), Live: r.Live > 0, Reads: reads,
		Thread: word(r.Thread),                 // an answer goes on with the peer's, which may be of any length
		Trace:  "tutti thread --trace " + r.ID, // ids of ours need no quotes
		Reason: r.Decision.Reason, Remark: cmp.Or(remark, readsRemark[reads]),
	}
	if r.Asked != r.To {
		o.Asked = string(r.Asked)
	}
	if !r.Stored.IsZero() {
		o.Stored = envelope.Stamp(r.Stored)
	}
	if r.Outcome == mail.Deposited && r.Decision.Reason == "" {
		o.Reason = "it is not live now; the message waits until it starts"
	}
	return o
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
// that does not come does not fail the call.
func (c *call) answer(ctx context.Context, h *hints, own *identity.Speaker, r *mail.Receipt, o *receipt, wait time.Duration) {
	stop := c.progress(ctx, "waiting for the answer")
	defer stop()
	reader := mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}
	item, err := c.office.Answer(h.ctx, reader, r.To, r.ID, h.look)
	if err != nil {
		o.Answer, o.Waited = new(*messageView), noAnswer(h, wait, err)
		return
	}
	around := func(v messageView) any {
		with, found := *o, &v
		with.Answer = &found
		return with
	}
	found := fitted(item, maxText, around)
	if found == nil || ctx.Err() != nil || c.office.Claim(context.WithoutCancel(ctx), reader, item) != nil {
		o.Answer, o.Waited = new(*messageView), "the answer is there; tutti_receive shows it"
		return
	}
	taken := true
	o.Answer, o.Acknowledged = &found, &taken
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
func reply(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
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
	done := err == nil
	o.ReplyTo, o.Acknowledged = id, &done
	return o, nil
}

// An acked says which messages were put away.
type acked struct {
	OK           bool      `json:"ok"` // none failed
	Count        int       `json:"count"`
	Acknowledged []string  `json:"acknowledged"`
	NotThere     []string  `json:"notThere,omitempty"` // ids that are not in the mailbox
	Failed       []unacked `json:"failed,omitempty"`
}

// An unacked is a message that could not be put away.
type unacked struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// An ackedCount is acked where there is no room for the ids.
type ackedCount struct {
	OK       bool `json:"ok"`
	Count    int  `json:"count"`
	NotThere int  `json:"notThere"`
	Failed   int  `json:"failed"`
}

// maxIDs is how many messages one call may acknowledge: as many as one answer can name.
const maxIDs = 50

// ack puts messages away.
func ack(ctx context.Context, c *call) (any, error) {
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
	done := acked{Acknowledged: []string{}}
	for _, id := range ids {
		taken, err := c.office.Ack(ctx, reader, []string{id})
		switch {
		case len(taken) > 0:
			done.Acknowledged = append(done.Acknowledged, termsafe.Cut(id, maxID))
		case errors.Is(err, mailbox.ErrNoMessage):
			done.NotThere = append(done.NotThere, termsafe.Cut(id, maxID))
		case err != nil && len(ids) == 1:
			return nil, err
		case err != nil:
			done.Failed = append(done.Failed, unacked{termsafe.Cut(id, maxID), termsafe.Cut(err.Error(), maxID)})
		}
	}
	if len(done.Acknowledged) == 0 && len(done.Failed) == 0 {
		return nil, c.refuse("they may be acknowledged already: tutti_read shows a message wherever it lies", "no such message in your mailbox: %s", done.NotThere[0])
	}
	if done.OK, done.Count = len(done.Failed) == 0, len(done.Acknowledged); !fits(done) {
		return ackedCount{done.OK, done.Count, len(done.NotThere), len(done.Failed)}, nil
	}
	return done, nil
}

// maxID is how much of an id is repeated where there may be many.
const maxID = 100

func now() time.Time { return time.Now() }
