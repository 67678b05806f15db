package bus

import (
	"context"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// A parcel is an envelope that was given as a whole, and the account that stores it.
type parcel struct {
	*kit.Account
	raw     []byte
	who     *identity.Speaker
	vouched bool // the speaker may sign it; never set if it is signed already
}

// A parcelOptions is the flags of verbs that store an envelope.
type parcelOptions struct{ Instance, JSON string }

// readParcel reads the envelope, opens the bus at the mailbox of --instance, and completes what is missing. The caller closes
// the account.
func readParcel(ctx context.Context, c *kit.Call, opt *parcelOptions, as string) (*parcel, error) {
	if opt.Instance == "" {
		return nil, c.Missing(&opt.Instance)
	}
	raw, signed, err := c.Given(ctx, opt.JSON)
	if err != nil {
		return nil, err
	}
	d, err := c.Named(c.WriteMode(), opt.Instance)
	if err != nil {
		return nil, err
	}
	p := &parcel{Account: d}
	if p.raw, p.who, err = fast.Complete(ctx, c, d, raw, signed, as); err == nil && !signed {
		p.vouched, err = fast.Vouched(ctx, c, d, p.raw, p.who)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return p, nil
}

type inboxPutOptions struct {
	parcelOptions
	As string
}

// runInboxPut puts an envelope into the mailbox of exactly that address.
func runInboxPut(ctx context.Context, c *kit.Call, opt *inboxPutOptions) error {
	p, err := readParcel(ctx, c, &opt.parcelOptions, opt.As)
	if err != nil {
		return err
	}
	d, raw, who, vouched := p.Account, p.raw, p.who, p.vouched
	defer d.Close()
	l := mail.Draft{From: &identity.Speaker{}, To: d.Who.Instance, Raw: raw, Exact: true, Deposit: true, Unsigned: true}
	if vouched {
		l.From = who
	}
	r, err := d.Office.Send(ctx, l)
	if err != nil {
		r.Err = kit.Taken(err)
		text := "@FILE"
		if c.Under == kit.H2A {
			text = "--json @FILE"
		}
		return fast.Refusal(ctx, c, &r, text)
	}
	found, err := d.Book.Resolve(ctx, string(l.To), d.Now)
	if err != nil {
		return err
	}
	if found.Unknown {
		c.Warn("no registration has the id %s: most likely that mailbox is never read", kit.Name(l.To))
	}
	if vouched && !r.Signed {
		c.Warn("the message was stored unsigned: the key of %s is not on this machine", kit.Name(who.Instance))
	}
	return putSaid(c, &r)
}

// A deposited is an envelope that was put into a mailbox.
type deposited struct {
	copied
	Live bool `json:"recipientLive"`
	mail.Resolution
}

// putSaid prints what became of an envelope that was put into a mailbox.
func putSaid(c *kit.Call, r *mail.Receipt) error {
	if !c.JSON {
		word := "stored"
		if r.Outcome == mail.Already {
			word = "already delivered"
		}
		c.Line(word + ": " + kit.Clean(r.ID) + " in the inbox of " + kit.Name(r.To))
		if r.Decision.LiveCandidate != "" {
			c.Line("  " + kit.Clean(r.Decision.Reason) + ", and may not read it there; tutti send delivers to it")
		}
		return nil
	}
	c.Result(deposited{copied{true, r.ID, "inbox", string(r.To)}, r.Live > 0, r.Resolution()})
	return nil
}

// A copied is an envelope that was put into an outbox.
type copied struct {
	OK       bool   `json:"ok"`
	ID       string `json:"id"`
	Mailbox  string `json:"mailbox"`
	Instance string `json:"instance"` // the agent
}

// runOutboxPut stores a copy of a message that was sent elsewhere.
func runOutboxPut(ctx context.Context, c *kit.Call, opt *parcelOptions) error {
	p, err := readParcel(ctx, c, opt, "")
	if err != nil {
		return err
	}
	d, raw, who, vouched := p.Account, p.raw, p.who, p.vouched
	defer d.Close()
	if err := d.Registry.Standing(ctx, d.Who.Instance); err != nil {
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
	if err := d.Mail.PutOutbox(ctx, d.Who.Instance, raw); err != nil {
		return kit.Taken(err)
	}
	id, _ := canonjson.Get(raw, "id")
	text, _ := canonjson.String(id)
	if !c.JSON {
		c.Line("stored: " + kit.Clean(text) + " in the outbox of " + kit.Name(d.Who.Instance))
		return nil
	}
	c.Result(copied{true, text, "outbox", string(d.Who.Instance)})
	return nil
}

type inboxReadOptions struct{ Instance string }

// runInboxRead prints the mailbox by id, or one message in full.
func runInboxRead(ctx context.Context, c *kit.Call, opt *inboxReadOptions) error {
	d, err := c.Looker(ctx, opt.Instance)
	if err != nil || d == nil {
		return c.Empty(err)
	}
	defer d.Close()
	if id := c.Arg(0); id != "" && c.Under != kit.H2A {
		return readOne(ctx, c, d, id)
	}
	all, bad, err := d.Mail.Read(ctx, d.Who.Instance)
	if err != nil {
		return err
	}
	return fast.Messages(ctx, c, d, all, bad, "no mail for "+kit.Name(d.Who.Instance), fast.FromOnly)
}

// readOne prints a whole message from the mailbox, the archive or the outbox.
func readOne(ctx context.Context, c *kit.Call, d *kit.Account, id string) error {
	m, err := d.Mail.Find(ctx, d.Who.Instance, id)
	if err != nil {
		return kit.NoMessage(err, fast.ListHint(c))
	}
	item, err := d.Judged(ctx, m)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(fast.ViewItem(&item))
		return nil
	}
	fast.Show(c, &item, d.Now, -1, fast.FromOnly)
	return nil
}

type inboxPopOptions struct{ Instance, Envelope string }

// runInboxPop takes one message and prints it.
func runInboxPop(ctx context.Context, c *kit.Call, opt *inboxPopOptions) error {
	id := c.Arg(0)
	if c.Under == kit.H2A {
		if opt.Instance == "" {
			return c.Missing(&opt.Instance)
		}
		if id = opt.Envelope; id == "" {
			return c.Missing(&opt.Envelope)
		}
	}
	if id == "" {
		return kit.UsageHint("usage: "+c.Usage(), "inbox pop: missing message id")
	}
	d, err := popper(ctx, c, opt)
	if err != nil {
		return err
	}
	defer d.Close()
	m, err := d.Mail.Get(ctx, d.Who.Instance, id)
	if err == nil && m.Archived {
		err = fmt.Errorf("take message %s from the mailbox of %s: %w", id, d.Who.Instance, mailbox.ErrNoMessage)
	}
	if err == nil {
		_, err = d.Office.Ack(ctx, d.Reader(), []string{id})
	}
	if err != nil {
		return kit.NoMessage(err, fast.ListHint(c))
	}
	if c.JSON {
		c.Emit(m.Envelope.Raw)
		return nil
	}
	item, err := d.Judged(ctx, m)
	if err == nil {
		fast.Show(c, &item, d.Now, -1, fast.FromOnly)
	}
	return err
}

func popper(ctx context.Context, c *kit.Call, opt *inboxPopOptions) (*kit.Account, error) {
	i := opt.Instance
	if i == "" {
		return c.Receiver(ctx, "")
	}
	d, err := c.OfOwn(ctx, app.Writing, i)
	if err != nil {
		return nil, err
	}
	if err := c.InName(ctx, d.World, d.Who.Instance); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

type outboxReadOptions struct{ Instance string }

// runOutboxRead prints what was sent.
func runOutboxRead(ctx context.Context, c *kit.Call, opt *outboxReadOptions) error {
	d, err := c.Looker(ctx, opt.Instance)
	if err != nil || d == nil {
		return c.Empty(err)
	}
	defer d.Close()
	all, bad, err := d.Mail.ReadOutbox(ctx, d.Who.Instance)
	if err != nil {
		return err
	}
	return fast.Messages(ctx, c, d, all, bad, "nothing sent by "+kit.Name(d.Who.Instance), fast.FromOnly)
}
