package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// An Outcome is the one word of a send.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"         // stored, and a live session can be told now
	Deposited Outcome = "deposited"         // stored, and waits until its reader wakes
	Already   Outcome = "already delivered" // the same bytes were stored before
	Queued    Outcome = "queued"            // its reader is on another machine: stored here, and carried there by tutti up
	Refused   Outcome = "refused"           // nothing was stored
)

// A Draft is what is to be sent.
type Draft struct {
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
	// Judged is Raw as it was parsed, when [envelope.Problems] found none in it and it bears its signatures: it is stored as it is.
	Judged *envelope.Envelope
	// Near is the folder of the caller. With it an address that alone means several agents, or names no host, may still mean one:
	// see members.Book.Choose. "": it may not.
	Near string
	// Exact keeps an address as it is: an alias gets its own mailbox although one live agent answers to it, and an
	// unknown full id is accepted with a reason.
	Exact bool
	// Unsigned sends without a signature when there is no key.
	Unsigned bool
	// Arrived: it came from another machine, where its sender has its copy; none is made here.
	Arrived bool
}

// A Receipt says what became of a letter for one recipient.
type Receipt struct {
	Outcome    Outcome
	Asked      address.Instance // as the sender wrote it
	To         address.Instance // owner of the mailbox that has it
	ID, Thread string
	Live       int       // sessions of To that were fresh
	Stored     time.Time // when it was durable, as recorded in the trail; zero when it was refused, or that is unknown
	Signed     bool
	Decision   members.Decision
	Away       string  // the endpoint of a reader on another machine; "": the reader's mailbox is here
	Outlook    Outlook // when it is read; set by [Service.Expect]
	Err        error   // why it was refused

	began time.Time // before it was stored
}

// A Resolution says what the address of a message was found to mean.
type Resolution struct {
	Kind          members.Kind     `json:"resolution"`              // what the address was found to mean
	LiveCandidate address.Instance `json:"liveCandidate,omitempty"` // the live agent that it may mean
	Reason        string           `json:"reason,omitempty"`
	Dormant       bool             `json:"dormant,omitempty"` // the recipient is not live
}

// Resolution returns what the address was found to mean.
func (r *Receipt) Resolution() Resolution {
	d := &r.Decision
	return Resolution{d.Kind, d.LiveCandidate, d.Reason, d.Kind == members.DeliverDormant}
}

// Send signs and stores one letter. The error of a refusal is also in the receipt; a refusal by halt, or a store that
// failed, is returned as an error with a receipt that says refused. A context that ends before the letter is stored
// refuses it; afterwards it no longer counts.
func (o *Service) Send(ctx context.Context, l Draft) (Receipt, error) {
	c := counter{o: o, mail: o.Mail}
	r, raw, err := c.hand(ctx, &l)
	if err == nil && r.Outcome != Already {
		o.copies(settle(ctx), &l, &r, raw)
	}
	return r, err
}

// A counter takes letters in: one of a send, or all of a batch. In a batch it remembers who was looked up.
type counter struct {
	o     *Service
	mail  *mailbox.Mailbox
	found map[address.Instance]members.Found      // nil: nothing is remembered
	keys  map[address.Instance]*signature.Private // likewise
	stand map[address.Instance]error              // of senders, likewise
}

// mints is how often an id is minted for a letter that brings none. Ids hold the millisecond and 16 random bits, as those of
// existing programs do, so that in a batch two of them can be the same.
const mints = 8

// A piece is a letter on its way into a mailbox.
type piece struct {
	r      Receipt
	now    time.Time
	raw    []byte
	fit    mailbox.Fit
	key    *signature.Private // the signer; nil: it is unsigned
	keyErr error              // why there is none
	minted bool               // the id is ours, and another one will do as well
	whole  bool               // the envelope was written by another process
	err    error
}

// hand stores one letter in the mailbox that its address means.
func (c *counter) hand(ctx context.Context, l *Draft) (Receipt, []byte, error) {
	var p piece
	if p.err = c.o.Halted("send to " + string(l.To)); p.err == nil {
		c.prepare(ctx, l, &p)
		p.seal(l)
	}
	return c.put(ctx, l, &p)
}

// prepare does what uses the memory of the counter, or the world around it.
func (c *counter) prepare(ctx context.Context, l *Draft, p *piece) {
	p.r = Receipt{Outcome: Refused, Asked: l.To, To: l.To}
	p.now = c.o.Now()
	p.r.began = p.now
	p.whole = len(l.Raw) > 0
	p.minted = l.ID == "" && !p.whole
	if p.err = c.standing(ctx, l); p.err != nil {
		return
	}
	if p.minted {
		l.ID = string(address.NewEnvelope(p.now))
	}
	if p.err = c.address(ctx, l, &p.r); p.err == nil && l.Judged == nil && !(p.whole && signed(l.Raw)) { // another signature would change its bytes
		p.key, p.keyErr = c.key(l.From.Instance)
	}
}

// seal writes, signs and judges.
func (p *piece) seal(l *Draft) {
	if p.err != nil {
		return
	}
	if p.err = p.write(l); p.err != nil {
		return
	}
	if p.r.Away != "" {
		if p.err = carriable(p); p.err != nil {
			return
		}
	}
	if p.whole && l.Judged == nil {
		p.fit, p.err = mailbox.Judge(p.raw)
	} else {
		p.fit, p.err = mailbox.Written(p.r.ID, p.raw)
	}
	if p.err != nil {
		p.err = fmt.Errorf("put message for %s: %w", p.r.To, p.err)
	}
}

// put stores a sealed piece.
func (c *counter) put(ctx context.Context, l *Draft, p *piece) (Receipt, []byte, error) {
	if p.r.Outcome == "" {
		p.r = Receipt{Outcome: Refused, Asked: l.To, To: l.To}
	}
	var put mailbox.Result
	for try := 0; p.err == nil; try++ {
		if err := ctx.Err(); err != nil {
			p.err = fmt.Errorf("send to %s: nothing was sent: %w", p.r.To, err)
			break
		}
		put, p.err = lay(settle(ctx), c.mail, &p.r, p.fit)
		if _, taken := errors.AsType[*mailbox.TakenIDError](p.err); !taken || !p.minted || try+1 == mints {
			break
		}
		l.ID, p.now, p.err = "", c.o.Now(), nil
		p.seal(l)
	}
	switch {
	case p.err != nil:
		p.r.Err = p.err
		return p.r, nil, p.err
	case put.Already && p.r.Away == "": // a message that another machine refused is still in the queue when it is sent again
		p.r.Outcome = Already
		return p.r, p.raw, nil
	case p.r.Away != "":
		p.r.Outcome = Queued
	case p.r.Live > 0:
		p.r.Outcome = Delivered
	default:
		p.r.Outcome = Deposited
	}
	p.r.Stored = c.o.Now()
	return p.r, p.raw, nil
}

// standing refuses a sender that was taken out of service, and an envelope in the name of one.
func (c *counter) standing(ctx context.Context, l *Draft) error {
	all := []address.Instance{l.From.Instance}
	if actor, ok := canonjson.Get(l.Raw, "actor"); ok {
		named, _ := canonjson.Get(actor, "instance")
		if i, _ := canonjson.String(named); i != "" && i != string(l.From.Instance) {
			all = append(all, address.Instance(i))
		}
	}
	for _, i := range all {
		err, known := c.stand[i]
		if !known {
			if err = c.o.Registry.Standing(ctx, i); err != nil {
				err = fmt.Errorf("send as %s: %w", i, err)
			}
			if c.stand != nil {
				c.stand[i] = err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// address finds out which mailbox an address names.
func (c *counter) address(ctx context.Context, l *Draft, r *Receipt) error {
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
	if (found.Kind == members.Refuse || found.Kind == members.DeliverDormant) && l.Near != "" && !l.Exact {
		who, decision, err := c.o.Book.Choose(ctx, string(l.To), l.Near, found.Decision, c.o.Now())
		if err != nil {
			return err
		}
		if found.Decision = decision; who != "" {
			if found, err = c.o.Book.Resolve(ctx, string(who), c.o.Now()); err != nil {
				return err
			}
			if decision.Kind == members.DeliverDormant && found.Kind == members.Deliver {
				found.Decision = decision
			}
			r.To = who
		}
	}
	r.Decision, r.Live = found.Decision, found.Live
	switch {
	case found.Kind == members.Refuse:
		return &RefusedError{To: l.To, Decision: found.Decision}
	case l.Exact:
		return nil
	case found.Unknown && !l.Deposit:
		return &UnknownError{To: l.To}
	case found.Kind == members.DeliverHint:
		r.To, r.Live = found.LiveCandidate, max(1, found.Live)
		one, err := c.o.Book.Resolve(ctx, string(r.To), c.o.Now())
		if err != nil {
			return err
		}
		found.Away = one.Away
	}
	return c.away(l, r, found.Away)
}

// A RefusedError is an address that names no agent, or several.
type RefusedError struct {
	To address.Instance
	members.Decision
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
func (p *piece) write(l *Draft) error {
	switch {
	case l.Judged != nil:
		p.raw, p.r.ID, p.r.Thread, p.r.Signed = l.Raw, l.Judged.ID, l.Judged.ThreadID, true
		return nil
	case p.whole:
		return p.complete(l)
	}
	d := draft(l, &p.r, p.now)
	var err error
	if p.r.Signed = p.key != nil; p.r.Signed {
		p.raw, err = d.Signed(l.From.Instance, p.key)
		return err
	}
	if p.raw, err = d.Bytes(); err == nil && !l.Unsigned {
		err = fmt.Errorf("sign as %s: %w", l.From.Instance, p.keyErr)
	}
	return err
}

// complete is write for an envelope that the caller has written.
func (p *piece) complete(l *Draft) error {
	raw, err := envelope.Fill(l.Raw, actorOf(l.From), p.now)
	if err != nil {
		return err
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return err
	}
	p.raw, p.r.ID, p.r.Thread = raw, e.ID, e.ThreadID
	switch {
	case signed(raw):
		p.r.Signed = true // by the process that wrote it
	case p.key != nil:
		p.r.Signed = true
		p.raw, err = envelope.Sign(raw, l.From.Instance, p.key)
	case !l.Unsigned:
		err = fmt.Errorf("sign as %s: %w", l.From.Instance, p.keyErr)
	}
	return err
}

func signed(raw []byte) bool {
	list, _ := canonjson.Get(raw, "signatures")
	for range canonjson.Elements(list) {
		return true
	}
	return false
}

// key is the private key of a sender; of a subagent that of its agent.
func (c *counter) key(i address.Instance) (*signature.Private, error) {
	i = i.Agent()
	if k := c.keys[i]; k != nil {
		return k, nil
	}
	k, err := c.o.Ring.Load(i)
	if err == nil && c.keys != nil {
		c.keys[i] = k
	}
	return k, err
}

// draft is a letter as an envelope.
func draft(l *Draft, r *Receipt, now time.Time) envelope.Draft {
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
	return envelope.Draft{
		ID: l.ID, Type: l.Type, Actor: actorOf(l.From), Target: r.To, ThreadID: l.Thread, ReplyTo: l.ReplyTo,
		Created: at, Body: l.Body, Kind: l.Kind, Text: l.Text, Via: l.From.Via,
	}
}

// copies writes what only serves memory: the sender's copy and the line of the trail. Neither can undo a delivery, so
// neither fails it; a sender that cannot keep copies sees it in its outbox.
func (o *Service) copies(ctx context.Context, l *Draft, r *Receipt, raw []byte) {
	if !l.Arrived {
		_ = o.Mail.KeepCopy(ctx, l.From.Instance, r.ID, raw)
	}
	_ = o.Mail.Step(ctx, r.To, markOf(l, r))
}

// Meant is the agent of this bus that an address or a name means to a caller in the folder near, as for a message to it. The errors are those
// of Send, and an *AwayError for every agent on another machine.
func (o *Service) Meant(ctx context.Context, to address.Instance, near string) (address.Instance, error) {
	r := Receipt{To: to}
	err := (&counter{o: o}).address(ctx, &Draft{To: to, Near: near}, &r)
	switch {
	case err == nil && !r.To.Perennial():
		err = &UnknownError{To: to}
	case err == nil && r.Away != "":
		err = &AwayError{To: r.To}
	}
	return r.To, err
}
