package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// inbox is the mailbox tool of older programs: it reads anybody's, puts into anybody's, and takes out of one's own.
func inbox(ctx context.Context, c *call) (any, error) {
	action := c.text("action")
	if action == "put" || action == "pop" {
		if err := halt.Check(c.tool + " " + action); err != nil {
			return nil, err
		}
	}
	who := address.Instance(c.text("instance"))
	switch action {
	case "read":
		return c.inboxRead(ctx, who)
	case "put":
		return c.inboxPut(ctx, who)
	case "pop":
		return c.inboxPop(ctx, who)
	case "":
		return nil, c.missing("action")
	}
	return nil, c.refuse("the actions are read, put and pop", "unknown action %q: read, put or pop", termsafe.Cut(action, maxWord))
}

// tooLong is how a message is dealt with that no answer takes.
const tooLong = "tutti_read shows its text in slices, tutti_ack puts it away"

// inboxRead lists whole envelopes, as they were written one after the other.
func (c *call) inboxRead(ctx context.Context, who address.Instance) (any, error) {
	found, unfit, err := c.Mail.List(ctx, who, mailbox.Query{Exact: true, Brief: true})
	if err != nil {
		return nil, err
	}
	words := map[string]string{}
	withheld := 0
	rows := make([]row[json.RawMessage], len(found))
	for n, m := range found {
		rows[n] = row[json.RawMessage]{key: orderKey(m), id: m.ID, make: func() (json.RawMessage, error) {
			item, err := c.item(ctx, who, m)
			if item == nil && err == nil {
				err = errLeftOut
			}
			if err != nil {
				return nil, err
			}
			if c.office.Withholds(item) != "" {
				withheld++
				return nil, errLeftOut
			}
			words[m.ID] = item.Verdict.Said()
			return item.Envelope.Raw, nil
		}}
	}
	return answerPage(c, tooLong, rows, func(p page[json.RawMessage]) any {
		o := envelopes{Envelopes: p.rows, omissions: p.omissions, Unfit: len(unfit), Withheld: withheld, pageNext: p.pageNext}
		if len(p.ids) > 0 {
			o.Verification, o.Note = wordsOf(p.ids, words), peerNote
		}
		return o
	})
}

// envelopes are a page of a mailbox.
type envelopes struct {
	Envelopes []json.RawMessage `json:"envelopes"` // as they are stored
	omissions
	Verification json.RawMessage `json:"verification,omitempty"` // by id: what the signatures are worth
	Note         string          `json:"note,omitempty"`
	Unfit        int             `json:"unfit,omitempty"`    // files that are not messages
	Withheld     int             `json:"withheld,omitempty"` // messages that the user's settings withhold
	pageNext
}

// A putEnvelope is what became of an envelope.
type putEnvelope struct {
	OK       bool   `json:"ok"`
	ID       string `json:"envelopeId"`
	Live     bool   `json:"recipientLive"`
	Sessions int    `json:"freshSessions"` // live sessions of the recipient
	mail.Resolution
}

// A popped is an envelope that was taken out of a mailbox.
type popped struct {
	Envelope     json.RawMessage `json:"envelope"`
	Verification string          `json:"verification"` // what its signatures are worth
	Note         string          `json:"note"`
}

// orderKey is the place of a message: by when it was written, then by name.
func orderKey(m *mailbox.Message) string { return fmt.Sprintf("%016d %s", max(m.Order, 0), m.Key.Name) }

// item is a message with its body and what its signatures are worth; nil when it was taken meanwhile, or is none any more.
func (c *call) item(ctx context.Context, reader address.Instance, m *mailbox.Message) (*mail.Item, error) {
	switch err := c.Mail.Load(ctx, m); {
	case errors.Is(err, mailbox.ErrNoMessage), store.IsUnfit(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return c.judged(ctx, reader, m)
}

// judged is a message of a reader's with what its signatures are worth, and whether it is addressed to the reader.
func (c *call) judged(ctx context.Context, reader address.Instance, m *mailbox.Message) (*mail.Item, error) {
	if m.Key.Kind == store.Outbox {
		reader = ""
	}
	v, err := c.office.Judge(ctx, reader, m.Envelope)
	return &mail.Item{Message: m, Verdict: v}, err
}

// let is judged for a message whose text is asked for by its id: what the user's settings do not let through is refused.
func (c *call) let(ctx context.Context, reader address.Instance, m *mailbox.Message) (*mail.Item, error) {
	item, err := c.judged(ctx, reader, m)
	if err != nil {
		return nil, err
	}
	if why := c.office.Withholds(item); why != "" {
		return nil, c.refuse(withheldHint, "message %s is withheld: %s", word(m.ID), why)
	}
	return item, nil
}

// withheldHint is what a model can do about a message that its user does not want it to read.
const withheldHint = "that is a setting of your user: ask there if you need it"

// wordsOf is what the signatures of the messages on a page are worth.
func wordsOf(ids []string, words map[string]string) []byte {
	var o canonjson.Object // in the order of the page
	for _, id := range ids {
		o.Str(id, words[id])
	}
	return o.Bytes()
}

// inboxPut stores an envelope in the mailbox of exactly that address, in the name of this connection.
func (c *call) inboxPut(ctx context.Context, to address.Instance) (any, error) {
	raw := c.raw("envelope")
	if raw == nil {
		return nil, c.missing("envelope")
	}
	if !canonjson.IsObject(raw) {
		return nil, &envelope.InvalidError{Problems: []string{"envelope must be a JSON object"}}
	}
	actor, _ := canonjson.Get(raw, "actor")
	named, _ := canonjson.Get(actor, "instance")
	instance, _ := canonjson.String(named)
	from, err := c.actor(ctx, c.bus, address.Instance(instance))
	if err != nil {
		return nil, err
	}
	whole, err := envelope.Fill(raw, envelope.Actor{Instance: from.Instance, Role: from.Role, Scope: from.Scope}, now())
	if err == nil {
		err = envelope.Check(whole)
	}
	if err == nil {
		err = c.ownSignature(whole, from.Instance)
	}
	if err != nil {
		return nil, err
	}
	r, err := c.office.Send(ctx, mail.Draft{From: from, To: to, Raw: whole, Exact: true, Deposit: true})
	if err != nil {
		return nil, err
	}
	c.deposited(c.bus, from, &r)
	return putEnvelope{true, r.ID, r.Live > 0, r.Live, r.Resolution()}, nil
}

// ownSignature refuses an envelope that brings signatures among which there is none by the key in the ring: it would be stored
// as it is, in a name whose key was never shown.
func (c *call) ownSignature(whole []byte, from address.Instance) error {
	e, err := envelope.Parse(whole)
	if err != nil || len(e.Signatures) == 0 {
		return err
	}
	key, err := c.Ring.Load(from)
	if err != nil {
		return fmt.Errorf("sign as %s: %w", from, err)
	}
	own := []signature.Public{key.Public()}
	if (trust.Keys{Active: own, Pins: own}).Judge(e).Word != trust.Verified {
		return c.refuse("leave signatures out, and the server signs", "the signature that the envelope brings is not that of %s", from)
	}
	return nil
}

// inboxPop takes a message out of a mailbox of one's own and answers with it.
func (c *call) inboxPop(ctx context.Context, who address.Instance) (any, error) {
	id := c.text("envelopeId")
	if id == "" {
		return nil, c.missing("envelopeId")
	}
	own, err := c.speaker(ctx, c.bus, false)
	if err != nil {
		return nil, err
	}
	if err := c.mayTake(ctx, own.Instance, who); err != nil {
		return nil, err
	}
	m, err := c.Mail.Get(ctx, who, id)
	if err == nil && m.Archived {
		err = mailbox.ErrNoMessage
	}
	if errors.Is(err, mailbox.ErrNoMessage) {
		return nil, c.refuse(c.toolName("h2a_inbox read")+" lists what is there", "no envelope %s in the inbox of %s", termsafe.Cut(id, maxWord), who)
	}
	if err != nil {
		return nil, err
	}
	item, err := c.let(ctx, who, m)
	if err != nil {
		return nil, err
	}
	o := popped{m.Envelope.Raw, item.Verdict.Said(), peerNote}
	if !fits(o) {
		return nil, c.refuse(tooLong+"; it was not taken", "envelope %s has %d bytes, more than one answer takes", termsafe.Cut(id, maxWord), m.Size)
	}
	if err := ctx.Err(); err != nil {
		return nil, err // a message that is taken now would not be shown
	}
	r := mail.Reader{Instance: who, Session: c.session(c.bus, own)}
	switch taken, err := c.office.Ack(ctx, r, []string{id}); {
	case err != nil && len(taken) == 0:
		return nil, err
	case err != nil: // it is out of the mailbox, so it has to be shown
		c.log(c.tool + ": " + withHint(err))
	}
	c.whenSent(func() error {
		return c.office.Shown(context.WithoutCancel(ctx), r, &mail.Taken{Items: []mail.Item{*item}})
	})
	return o, nil
}

// mayTake refuses mailboxes that are not those of the instance: its own, those of its subagents, and the aliases it owns.
func (c *call) mayTake(ctx context.Context, own, who address.Instance) error {
	if isOwn(who, own) {
		return nil
	}
	sources, err := c.Mail.Sources(ctx, own)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sources, func(s mailbox.Source) bool { return s.Owner == who.Mailbox() && !s.Channel }) {
		return nil
	}
	return foreign(own, fmt.Sprintf("nothing is taken out of the mailbox of %s", who), c.toolName("h2a_inbox read")+" shows what is there; only its owner takes it")
}
