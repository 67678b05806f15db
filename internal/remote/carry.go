package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// Waits after an endpoint that has not answered, or has no room at this moment.
const (
	firstAgain = 2 * time.Second
	lastAgain  = 5 * time.Minute
)

const (
	// signAgain is the age from which a message is signed anew with the time of now: an endpoint takes none that is older than MaxAge.
	signAgain = MaxAge - time.Minute
	// keepRefused is how long a message that was refused stays in the queue, for its sender to see.
	keepRefused = 7 * 24 * time.Hour
	// atOnce is how many endpoints are sent to at the same time.
	atOnce = 8
)

// A Carrier brings what waits in the queue of a bus to other machines. Only messages that verify under the private key of their sender
// here are carried, so that a file that another program put into the queue is not signed. What an endpoint refuses for good stays in the queue
// for a week and is not sent again; everything else is tried until it is taken. An endpoint that has the message already counts as having
// taken it.
//
// Its members are set once, before the first call. It is for one goroutine.
type Carrier struct {
	Mail     *mailbox.Mailbox
	Registry *registry.Registry
	Ring     *keyring.Ring
	Halted   func(action string) error
	Now      func() time.Time
	By       string                                                                      // who stands in the trail
	Submit   func(ctx context.Context, to string, away bool, body []byte) (Reply, error) // nil: by HTTP
	Tell     func(Carriage)

	again map[string]*lull // by endpoint
}

// A lull is the time until an endpoint is tried again.
type lull struct {
	wait  time.Duration
	until time.Time
}

// A Carriage says what became of a message.
type Carriage struct {
	ID      string
	To      address.Instance
	Machine string
	Step    mailbox.Step // Carried, Returned, or Failed: it is tried again
	Why     string
}

// Round sends what waits and is due. It returns when the next message is due, zero where nothing waits, and the entries of the
// queue that are not messages. The error is that of a halt or of the store.
func (c *Carrier) Round(ctx context.Context) (next time.Time, bad []error, err error) {
	if err := c.Halted("carry messages to other machines"); err != nil {
		return next, nil, err
	}
	all, bad, err := c.Mail.Outgoing(ctx)
	if err != nil {
		return next, bad, err
	}
	batches := map[string]*batch{}
	for _, q := range all {
		if !q.Waits() {
			if c.Now().Sub(q.State.Returned) > keepRefused {
				_ = c.Mail.Unqueue(ctx, q)
			}
			continue
		}
		if err := c.sort(ctx, q, batches); err != nil {
			return next, bad, err
		}
	}
	c.all(ctx, batches)
	for url := range batches {
		if l := c.again[url]; l != nil && (next.IsZero() || l.until.Before(next)) {
			next = l.until
		}
	}
	return next, bad, ctx.Err()
}

// A batch is what waits for one endpoint.
type batch struct {
	url      string
	mirrored bool // another bus has named the endpoint
	all      []*mailbox.Outgoing
}

// sort puts a message to those for the same endpoint. The endpoint is that of now: it may be another than when the message was sent.
func (c *Carrier) sort(ctx context.Context, q *mailbox.Outgoing, batches map[string]*batch) error {
	if !c.Ring.Has(q.Envelope.Actor.Instance) {
		return nil // the holder of the key carries it
	}
	reg, err := c.Registry.Registered(ctx, q.To)
	switch {
	case errors.Is(err, registry.ErrNotRegistered), err == nil && CheckURL(reg.Away()) != nil:
		return c.end(ctx, q, "", mailbox.Returned, "no endpoint of the recipient is known here any more")
	case err != nil:
		return err
	}
	url := reg.Away()
	if batches[url] == nil {
		batches[url] = &batch{url: url}
	}
	b := batches[url]
	b.mirrored = b.mirrored || reg.Mirrored()
	b.all = append(b.all, q)
	return nil
}

// all sends to all endpoints that are due, several at the same time.
func (c *Carrier) all(ctx context.Context, batches map[string]*batch) {
	if c.again == nil {
		c.again = map[string]*lull{}
	}
	var works sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for url, b := range batches {
		l := c.again[url]
		if l != nil && c.Now().Before(l.until) {
			continue
		}
		if l == nil {
			l = &lull{}
			c.again[url] = l
		}
		room <- struct{}{}
		works.Go(func() {
			defer func() { <-room }()
			c.batch(ctx, b, l)
		})
	}
	works.Wait()
	for url, l := range c.again {
		if l.wait == 0 {
			delete(c.again, url)
		}
	}
}

// batch sends what waits for one endpoint, until one message has to wait.
func (c *Carrier) batch(ctx context.Context, b *batch, l *lull) {
	for _, q := range b.all {
		if ctx.Err() != nil || c.Halted("send to "+b.url) != nil {
			return
		}
		why := c.one(ctx, q, b)
		if why == "" {
			*l = lull{}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		l.wait = min(max(firstAgain, 2*l.wait), lastAgain)
		l.until = c.Now().Add(l.wait)
		if q.State.Failed.IsZero() || q.State.Result != why { // the trail has a line for each reason, not for each try
			_ = c.Mail.Note(context.WithoutCancel(ctx), q, mailbox.Failed, c.By, why, c.Now())
			c.tell(q, b.url, mailbox.Failed, why)
		}
		return
	}
}

// one sends a message. why is what keeps it here, "" when it need not be sent again.
func (c *Carrier) one(ctx context.Context, q *mailbox.Outgoing, b *batch) (why string) {
	settled := context.WithoutCancel(ctx) // what has come of it is put on record in any case
	body, refused, err := c.sealed(ctx, q, b.url)
	if err != nil {
		return err.Error()
	}
	if refused != "" {
		return c.said(c.end(settled, q, b.url, mailbox.Returned, refused))
	}
	before := !q.State.Carrying.IsZero()
	if !before { // it is on record before: after a crash here it is known that the message may have arrived
		if err := c.Mail.Note(ctx, q, mailbox.Carrying, c.By, mail.Machine(b.url), c.Now()); err != nil {
			return err.Error()
		}
	}
	submit := c.Submit
	if submit == nil {
		submit = func(ctx context.Context, to string, away bool, body []byte) (Reply, error) {
			return (&Client{Away: away}).Submit(ctx, to, body)
		}
	}
	r, err := submit(ctx, b.url, b.mirrored, body)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // the endpoint is named beside it
		}
		return err.Error()
	}
	reason := r.Reason()
	switch {
	case r.Status/100 == 2, r.Status == http.StatusConflict && (reason != string(Occupied) || before):
		return c.said(c.end(settled, q, b.url, mailbox.Carried, ""))
	case r.Status == http.StatusTooManyRequests, r.Status/100 == 5:
		return reason
	}
	return c.said(c.end(settled, q, b.url, mailbox.Returned, reason))
}

func (c *Carrier) said(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// end puts on record that a message need not be sent again.
func (c *Carrier) end(ctx context.Context, q *mailbox.Outgoing, url string, step mailbox.Step, why string) error {
	if err := c.Mail.Note(ctx, q, step, c.By, why, c.Now()); err != nil {
		return err
	}
	c.tell(q, url, step, why)
	if step != mailbox.Carried {
		return nil
	}
	return c.Mail.Unqueue(ctx, q)
}

func (c *Carrier) tell(q *mailbox.Outgoing, url string, step mailbox.Step, why string) {
	if c.Tell != nil {
		c.Tell(Carriage{ID: q.ID, To: q.To, Machine: mail.Machine(url), Step: step, Why: why})
	}
}

// sealed is a message as it is sent: bound to the endpoint, and with the time of now where it has waited for long. refused is why it must
// not be sent.
func (c *Carrier) sealed(ctx context.Context, q *mailbox.Outgoing, url string) (body []byte, refused string, err error) {
	e := q.Envelope
	if err := c.Registry.Standing(ctx, e.Actor.Instance); err != nil {
		return nil, err.Error(), nil
	}
	key, err := c.Ring.Load(e.Actor.Instance)
	if err != nil {
		return nil, "", err
	}
	if _, ok := Signed(e, e.Own(), []signature.Public{key.Public()}); !ok {
		return nil, "its signature is not by the key that its sender has here", nil
	}
	raw := canonjson.Delete(slices.Clone(e.Raw), "signatures")
	now := c.Now()
	if made, ok := e.Time(); !ok || made.After(now) || now.Sub(made) > signAgain {
		// The same bytes for a minute: consecutive tries are one message to the receiver.
		raw = canonjson.Set(raw, "createdAt", canonjson.AppendString(nil, envelope.Stamp(now.Truncate(time.Minute))))
	}
	if body, err = Seal(raw, e.Actor.Instance, key, url); err != nil {
		return nil, fmt.Sprintf("it cannot be sent: %v", err), nil
	}
	return body, "", nil
}

// Reason is why an endpoint has not taken something, in its word, or the status where it says none.
func (r Reply) Reason() string {
	for _, member := range []string{"reason", "error"} {
		if word, ok := canonjson.Get(r.Body, member); ok {
			if s, _ := canonjson.String(word); s != "" {
				return s
			}
		}
	}
	return fmt.Sprintf("status %d", r.Status)
}
