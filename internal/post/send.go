package post

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/identity"
	"tutti/internal/mailbox"
	"tutti/internal/peers"
	"tutti/internal/signature"
)

// An Outcome is the one word of a send.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"         // stored, and a live session can be told now
	Deposited Outcome = "deposited"         // stored, and waits until its reader wakes
	Already   Outcome = "already delivered" // the same bytes were stored before
	Refused   Outcome = "refused"           // nothing was stored
)

// A Letter is what is to be sent.
type Letter struct {
	From    *identity.Speaker
	To      address.Instance
	Text    string // goes into the body as text
	Kind    string // goes into the body as kind; "": as the body says, else message
	Body    []byte // a JSON object with what else is to be said
	Type    string // "" is event
	ID      string // "" is minted
	Thread  string // "" opens one
	ReplyTo string
	At      time.Time // zero is now; a letter sent again must bear its old time to be the same bytes
	Deposit bool      // also to a full id that no registration has
	Raw     []byte    // a whole envelope: missing members are filled in; outranks Text, Kind and Body
	// Exact keeps an address as it is: an alias gets its own mailbox although one live agent answers to it, and an
	// unknown full id is accepted with a reason.
	Exact bool
	// Unsigned sends without a signature when there is no key.
	Unsigned bool
}

// A Receipt says what became of a letter for one recipient.
type Receipt struct {
	Outcome    Outcome
	Asked      address.Instance // as the sender wrote it
	To         address.Instance // whose mailbox it lies in
	ID, Thread string
	Live       int // sessions of To that were fresh
	Signed     bool
	Decision   peers.Decision
	Err        error // why it was refused
}

// Members adds what the address of a letter was found to mean, as existing programs write it.
func (r *Receipt) Members(o *canonjson.Object) {
	o.Str("resolution", string(r.Decision.Kind))
	o.Opt("liveCandidate", string(r.Decision.LiveCandidate))
	o.Opt("reason", r.Decision.Reason)
	if r.Decision.Kind == peers.DeliverDormant {
		o.Bool("dormant", true)
	}
}

// Send signs and stores one letter. The error of a refusal is also in the receipt; a refusal by halt, or a store that
// failed, is returned as an error with a receipt that says refused. A context that ends before the letter is stored
// refuses it; afterwards it no longer counts.
func (o *Office) Send(ctx context.Context, l Letter) (Receipt, error) {
	c := counter{o: o, mail: o.Mail}
	r, raw, err := c.hand(ctx, &l)
	if err == nil && r.Outcome != Already {
		o.copies(settle(ctx), &l, &r, raw)
	}
	return r, err
}

// SendAll sends many letters and syncs once. The receipts are in the order of the letters. Letters that could not be
// written or addressed are refused each by itself. A halt that comes before the letters become visible refuses all, and is the
// error. When the batch fails otherwise, some of it may lie there: each letter is then put by itself, so that each has a true word.
func (o *Office) SendAll(ctx context.Context, letters []Letter) ([]Receipt, error) {
	receipts := make([]Receipt, len(letters))
	raws := make([][]byte, len(letters))
	var halted error
	err := o.Mail.Batch(settle(ctx), func(b *mailbox.Mailbox) error {
		c := counter{o: o, mail: b, found: map[address.Instance]peers.Found{}, keys: map[address.Instance]*signature.Private{}}
		for i := range letters {
			receipts[i], raws[i], _ = c.hand(ctx, &letters[i])
		}
		halted = o.Halted("send a batch")
		return halted
	})
	for i := range letters {
		r := &receipts[i]
		switch {
		case r.Outcome == Refused:
		case halted != nil:
			r.Outcome, r.Err = Refused, halted
		default:
			if err != nil {
				o.putAgain(ctx, r, raws[i])
			}
			if r.Outcome == Delivered || r.Outcome == Deposited {
				o.copies(settle(ctx), &letters[i], r, raws[i])
			}
		}
	}
	return receipts, halted
}

// putAgain stores a letter of a batch that failed. One that the batch did store is there, and keeps its word.
func (o *Office) putAgain(ctx context.Context, r *Receipt, raw []byte) {
	if r.Err = o.Halted("send to " + string(r.To)); r.Err == nil {
		_, r.Err = o.Mail.Put(settle(ctx), r.To, raw)
	} else if m, err := o.Mail.Get(settle(ctx), r.To, r.ID); err == nil && bytes.Equal(m.Envelope.Raw, raw) {
		r.Err = nil
	}
	if r.Err != nil {
		r.Outcome = Refused
	}
}

// A counter takes letters in: one of a send, or all of a batch. In a batch it remembers who was looked up.
type counter struct {
	o     *Office
	mail  *mailbox.Mailbox
	found map[address.Instance]peers.Found        // nil: nothing is remembered
	keys  map[address.Instance]*signature.Private // likewise
}

// mints is how often an id is minted for a letter that brings none. Ids hold the millisecond and 16 random bits, as those of
// existing programs do, so that in a batch two of them can be the same.
const mints = 8

// hand stores one letter in the mailbox that its address means.
func (c *counter) hand(ctx context.Context, l *Letter) (r Receipt, raw []byte, err error) {
	r = Receipt{Outcome: Refused, Asked: l.To, To: l.To}
	defer func() { r.Err = err }()
	if err = c.o.Halted("send to " + string(l.To)); err != nil {
		return r, nil, err
	}
	if err = c.address(ctx, l, &r); err != nil {
		return r, nil, err
	}
	minted := l.ID == "" && len(l.Raw) == 0
	var put mailbox.Result
	for range mints {
		if raw, err = c.write(l, &r); err != nil {
			return r, nil, err
		}
		if err = ctx.Err(); err != nil {
			return r, nil, fmt.Errorf("send to %s: nothing was sent: %w", r.To, err)
		}
		put, err = c.mail.Put(settle(ctx), r.To, raw)
		if _, taken := errors.AsType[*mailbox.TakenIDError](err); !taken || !minted {
			break
		}
		l.ID = ""
	}
	if err != nil {
		return r, nil, err
	}
	r.Outcome = Deposited
	switch {
	case put.Already:
		r.Outcome = Already
	case r.Live > 0:
		r.Outcome = Delivered
	}
	return r, raw, nil
}

// address finds out whose mailbox is meant.
func (c *counter) address(ctx context.Context, l *Letter, r *Receipt) error {
	found, known := c.found[l.To]
	if !known {
		var err error
		if found, err = c.o.Book.Resolve(ctx, string(l.To), c.o.Now()); err != nil {
			return err
		}
		if c.found != nil {
			c.found[l.To] = found
		}
	}
	r.Decision, r.Live = found.Decision, found.Live
	switch {
	case found.Kind == peers.Refuse:
		return &RefusedError{To: l.To, Decision: found.Decision}
	case l.Exact:
		return nil
	case found.Unknown && !l.Deposit:
		return &UnknownError{To: l.To}
	case found.Kind == peers.DeliverHint:
		r.To, r.Live = found.LiveCandidate, max(1, found.Live)
	}
	return nil
}

// A RefusedError is an address that means nobody, or several.
type RefusedError struct {
	To address.Instance
	peers.Decision
}

func (e *RefusedError) Error() string { return fmt.Sprintf("send to %s: %s", e.To, e.Decision.Reason) }

// Hint says what to type instead.
func (e *RefusedError) Hint() string { return e.Decision.Hint }

// An UnknownError is a full id that no registration has: most likely a slip, and its mail would wait for ever.
type UnknownError struct{ To address.Instance }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("send to %s: no agent is registered under this id", e.To)
}

// Hint says what to type instead.
func (e *UnknownError) Hint() string {
	return "tutti discover --all   # lists who is there; --deposit sends all the same"
}

// write makes the envelope and signs it.
func (c *counter) write(l *Letter, r *Receipt) ([]byte, error) {
	raw, err := c.o.draft(l, r)
	if err != nil {
		return nil, err
	}
	if len(l.Raw) > 0 && signed(raw) {
		r.Signed = true // by whoever wrote it: another signature would change the bytes
		return raw, nil
	}
	key, err := c.key(l.From.Instance)
	if err != nil {
		if l.Unsigned {
			return raw, nil
		}
		return nil, fmt.Errorf("sign as %s: %w", l.From.Instance, err)
	}
	r.Signed = true
	return envelope.Sign(raw, l.From.Instance, key)
}

func signed(raw []byte) bool {
	list, _ := canonjson.Get(raw, "signatures")
	for range canonjson.Elements(list) {
		return true
	}
	return false
}

func (c *counter) key(i address.Instance) (*signature.Private, error) {
	if k := c.keys[i]; k != nil {
		return k, nil
	}
	k, err := c.o.Ring.Load(i)
	if err == nil && c.keys != nil {
		c.keys[i] = k
	}
	return k, err
}

func (o *Office) draft(l *Letter, r *Receipt) ([]byte, error) {
	now := o.Now()
	if len(l.Raw) > 0 {
		raw, err := envelope.Fill(l.Raw, actorOf(l.From), now)
		if err != nil {
			return nil, err
		}
		e, err := envelope.Parse(raw)
		if err != nil {
			return nil, err
		}
		r.ID, r.Thread = e.ID, e.ThreadID
		return raw, nil
	}
	if l.ID == "" {
		l.ID = string(address.NewEnvelope(now))
	}
	if l.Thread == "" {
		l.Thread = string(address.NewThread(now))
	}
	at := l.At
	if at.IsZero() {
		at = now
	}
	r.ID, r.Thread = l.ID, l.Thread
	d := envelope.Draft{
		ID: l.ID, Type: l.Type, Actor: actorOf(l.From), Target: r.To, ThreadID: l.Thread, ReplyTo: l.ReplyTo,
		Created: at, Body: l.Body, Kind: l.Kind, Text: l.Text, Via: l.From.Via,
	}
	return d.Bytes()
}

// copies writes what only serves memory: the sender's copy and the line of the trail. Neither can undo a delivery, so
// neither fails it; a sender that cannot keep copies sees it in its outbox.
func (o *Office) copies(ctx context.Context, l *Letter, r *Receipt, raw []byte) {
	_ = o.Mail.KeepCopy(ctx, l.From.Instance, r.ID, raw)
	_ = o.Mail.Step(ctx, r.To, mailbox.Mark{ID: r.ID, Step: mailbox.Stored, By: string(l.From.Instance), At: o.Now()})
}
