package cli

import (
	"context"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
)

// putter opens the bus for a verb that stores an envelope. Under h2a that makes the bus, as the older program does.
func (c *Call) putter() (*desk, error) {
	if c.value("instance") == "" {
		return nil, c.missing("instance")
	}
	if c.under == H2A {
		return c.named(app.Creating, c.value("instance"))
	}
	return c.named(app.Writing, c.value("instance"))
}

// A parcel is an envelope that was given as a whole, and the desk at which it is put down.
type parcel struct {
	*desk
	raw     []byte
	who     *identity.Speaker
	vouched bool // who speaks may sign it; never beside those who have signed
}

// parcel reads the envelope, opens the bus at the mailbox of --instance, and completes what is missing. The caller closes
// the desk.
func (c *Call) parcel(ctx context.Context) (*parcel, error) {
	if c.value("instance") == "" {
		return nil, c.missing("instance")
	}
	raw, signed, err := c.given(ctx)
	if err != nil {
		return nil, err
	}
	d, err := c.putter()
	if err != nil {
		return nil, err
	}
	p := &parcel{desk: d}
	if p.raw, p.who, err = c.complete(ctx, d, raw, signed); err == nil && !signed {
		p.vouched, err = c.vouched(ctx, d, p.raw, p.who)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return p, nil
}

// runInboxPut puts an envelope into the mailbox of exactly that address.
func runInboxPut(ctx context.Context, c *Call) error {
	p, err := c.parcel(ctx)
	if err != nil {
		return err
	}
	d, raw, who, vouched := p.desk, p.raw, p.who, p.vouched
	defer d.Close()
	l := mail.Draft{From: &identity.Speaker{}, To: d.who.Instance, Raw: raw, Exact: true, Deposit: true, Unsigned: true}
	if vouched {
		l.From = who
	}
	r, err := d.office.Send(ctx, l)
	if err != nil {
		r.Err = taken(err)
		text := "@FILE"
		if c.under == H2A {
			text = "--json @FILE"
		}
		return c.refusal(ctx, &r, text)
	}
	found, err := d.Book.Resolve(ctx, string(l.To), d.now)
	if err != nil {
		return err
	}
	if found.Unknown {
		c.warn("no registration has the id %s: most likely nobody reads what lies there", Clean(string(l.To)))
	}
	if vouched && !r.Signed {
		c.warn("it lies there unsigned: the key of %s is not here", Clean(string(who.Instance)))
	}
	return c.putSaid(&r)
}

// putSaid prints what became of a put, with the members that the older program prints.
func (c *Call) putSaid(r *mail.Receipt) error {
	if !c.json {
		word := "stored"
		if r.Outcome == mail.Already {
			word = "already delivered"
		}
		c.line(word + ": " + Clean(r.ID) + " in the inbox of " + Clean(string(r.To)))
		if r.Decision.LiveCandidate != "" {
			c.line("  " + Clean(r.Decision.Reason) + ", and may not read it there; tutti send delivers to it")
		}
		return nil
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("id", r.ID)
	o.Str("mailbox", "inbox")
	o.Str("instance", string(r.To))
	o.Bool("recipientLive", r.Live > 0)
	r.Members(&o)
	c.emit(o.Bytes())
	return nil
}

// runOutboxPut keeps a copy of what was sent by other means.
func runOutboxPut(ctx context.Context, c *Call) error {
	p, err := c.parcel(ctx)
	if err != nil {
		return err
	}
	d, raw, who, vouched := p.desk, p.raw, p.who, p.vouched
	defer d.Close()
	if err := d.Registry.Standing(ctx, d.who.Instance); err != nil {
		return err
	}
	if vouched {
		if err := d.Registry.Standing(ctx, who.Instance); err != nil {
			return err
		}
		if key, err := d.Ring.Load(who.Instance); err == nil {
			if raw, err = envelope.Sign(raw, who.Instance, key); err != nil {
				return err
			}
		}
	}
	if err := d.Mail.PutOutbox(ctx, d.who.Instance, raw); err != nil {
		return taken(err)
	}
	id, _ := canonjson.Get(raw, "id")
	text, _ := canonjson.String(id)
	if !c.json {
		c.line("stored: " + Clean(text) + " in the outbox of " + Clean(string(d.who.Instance)))
		return nil
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("id", text)
	o.Str("mailbox", "outbox")
	o.Str("instance", string(d.who.Instance))
	c.emit(o.Bytes())
	return nil
}

// runInboxRead prints the mailbox by id, or one message in full.
func runInboxRead(ctx context.Context, c *Call) error {
	d, err := c.looker(ctx)
	if err != nil || d == nil {
		return c.empty(err)
	}
	defer d.Close()
	if id := c.arg(0); id != "" && c.under != H2A {
		return c.readOne(ctx, d, id)
	}
	if c.json {
		all, bad, err := d.Mail.ReadWhole(ctx, d.who.Instance)
		return c.wholes(all, bad, err)
	}
	all, bad, err := d.Mail.Read(ctx, d.who.Instance)
	if err != nil {
		return err
	}
	return c.messages(ctx, d, all, bad, "no mail for "+Clean(string(d.who.Instance)))
}

// readOne prints a message whole, wherever it lies.
func (c *Call) readOne(ctx context.Context, d *desk, id string) error {
	m, err := d.Mail.Find(ctx, d.who.Instance, id)
	if err != nil {
		return noMessage(err, c.listHint())
	}
	item, err := d.judged(ctx, m)
	if err != nil {
		return err
	}
	if c.json {
		c.emit(itemJSON(&item))
		return nil
	}
	c.show(&item, d.now, -1)
	return nil
}

// runInboxPop takes one message and prints it.
func runInboxPop(ctx context.Context, c *Call) error {
	id := c.arg(0)
	if c.under == H2A {
		if c.value("instance") == "" {
			return c.missing("instance")
		}
		if id = c.value("envelope"); id == "" {
			return c.missing("envelope")
		}
	}
	if id == "" {
		return usageHint("usage: "+c.usage(), "inbox pop: which message?")
	}
	d, err := c.popper(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	m, err := d.Mail.Get(ctx, d.who.Instance, id)
	if err == nil && m.Archived {
		err = fmt.Errorf("take message %s of %s: %w", id, d.who.Instance, mailbox.ErrNoMessage)
	}
	if err == nil {
		_, err = d.office.Ack(ctx, d.reader(), []string{id})
	}
	if err != nil {
		return noMessage(err, c.listHint())
	}
	if c.json {
		c.emit(m.Envelope.Raw)
		return nil
	}
	item, err := d.judged(ctx, m)
	if err == nil {
		c.show(&item, d.now, -1)
	}
	return err
}

func (c *Call) popper(ctx context.Context) (*desk, error) {
	if i := c.value("instance"); i != "" {
		return c.ofOwn(ctx, app.Writing, i)
	}
	return c.taker(ctx)
}

// runOutboxRead prints what was sent.
func runOutboxRead(ctx context.Context, c *Call) error {
	d, err := c.looker(ctx)
	if err != nil || d == nil {
		return c.empty(err)
	}
	defer d.Close()
	if c.json {
		all, bad, err := d.Mail.ReadOutboxWhole(ctx, d.who.Instance)
		return c.wholes(all, bad, err)
	}
	all, bad, err := d.Mail.ReadOutbox(ctx, d.who.Instance)
	if err != nil {
		return err
	}
	return c.messages(ctx, d, all, bad, "nothing sent by "+Clean(string(d.who.Instance)))
}
