package cli

import (
	"context"
	"errors"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/mailbox"
	"tutti/internal/store"
	"tutti/internal/trust"
)

// defaultNewest is how many messages a list shows when nobody says otherwise: a screen.
const defaultNewest = 20

// maxCell is the width that one column of a list takes on a terminal at most: names have up to 255 bytes, and one of them
// should not push all others off the screen.
const maxCell = 44

// runInbox lists the mailbox.
func runInbox(ctx context.Context, c *Call) error {
	d, err := c.looker(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	q := mailbox.Query{Newest: c.count("newest", defaultNewest), Brief: true, States: true, Unread: c.on("unread")}
	if c.on("all") {
		if c.isSet("newest") {
			return usagef("inbox: either --all or --newest, not both")
		}
		q.Newest = 0
	}
	found, bad, err := d.Mail.List(ctx, d.who.Instance, q)
	if err != nil {
		return err
	}
	c.sayUnfit(bad)
	judge := d.judge()
	var l list
	var rows [][]string
	unread := 0
	for _, m := range found {
		v, err := judge(ctx, m)
		if err != nil {
			return err
		}
		star := " "
		if !m.State.Seen() {
			star = "*"
			unread++
		}
		if c.json {
			l.raw(listedJSON(m, v))
			continue
		}
		word := v.Word.String()
		if v.RoleNotRegistered {
			word += ", role not registered"
		}
		rows = append(rows, append([]string{star}, c.row(d.now, m, string(m.Summary.Actor.Instance), word)...))
	}
	if c.json {
		c.emit(l.bytes())
		return nil
	}
	c.table(rows)
	c.inboxFoot(d, len(found), unread, q)
	return nil
}

// inboxFoot says what there is to do. Unread mail below what was listed is not counted: that would cost more than the list.
func (c *Call) inboxFoot(d *desk, n, unread int, q mailbox.Query) {
	switch {
	case n == 0 && q.Unread:
		c.line("nothing unread for " + Clean(string(d.who.Instance)))
	case n == 0:
		c.line("no mail for " + Clean(string(d.who.Instance)) + " (bus " + Clean(c.App.Shown(d.Root.Path)) + ": " + d.Root.Source.Why() + ")")
	case unread == 0:
		c.line("nothing unread among these")
	case unread == n && n == q.Newest:
		c.printf("%d unread or more; tutti receive shows them\n", unread)
	default:
		c.printf("%d unread; tutti receive shows them\n", unread)
	}
}

// row is one message of a list: id, age, who, a word, thread, kind and first line.
func (c *Call) row(now time.Time, m *mailbox.Message, who, word string) []string {
	s := &m.Summary
	text := firstWords(s.Preview)
	if s.Kind != "" && s.Kind != "message" {
		text = "[" + s.Kind + "] " + text
	}
	return []string{c.cell(s.ID), ago(now.Sub(time.UnixMilli(m.Order))), c.cell(who), word, c.cell(s.ThreadID), text}
}

func (c *Call) cell(s string) string {
	if c.columns > 0 {
		return Truncate(Clean(s), maxCell)
	}
	return s
}

func listedJSON(m *mailbox.Message, v trust.Verdict) []byte {
	o := summaryJSON(m)
	o.Str("verdict", v.Word.String())
	o.Opt("verdictDetail", v.Detail)
	o.Bool("roleNotRegistered", v.RoleNotRegistered)
	o.Bool("unread", !m.State.Seen())
	return o.Bytes()
}

func summaryJSON(m *mailbox.Message) *canonjson.Object {
	s := &m.Summary
	o := &canonjson.Object{}
	o.Str("id", s.ID)
	o.Str("from", string(s.Actor.Instance))
	o.Opt("to", string(s.Target))
	o.Str("role", s.Actor.Role)
	o.Opt("kind", s.Kind)
	o.Opt("thread", s.ThreadID)
	o.Opt("replyTo", s.ReplyTo)
	o.Str("createdAt", s.CreatedAt)
	messageJSON(o, m)
	o.Str("preview", s.Preview)
	o.Int("size", int64(s.Size))
	return o
}

// judge returns what judges the messages of a list. It looks up each sender once, and opens a message only when its row does
// not say which key it was verified with.
func (d *desk) judge() func(context.Context, *mailbox.Message) (trust.Verdict, error) {
	type sender struct {
		keys  trust.Keys
		roles []string
	}
	known := map[address.Instance]*sender{}
	return func(ctx context.Context, m *mailbox.Message) (v trust.Verdict, err error) {
		from := m.Summary.Actor.Instance
		s := known[from]
		if s == nil {
			s = &sender{}
			if s.keys, s.roles, err = d.office.Sender(ctx, from); err != nil {
				return v, err
			}
			known[from] = s
		}
		v, ok := trust.JudgeSummary(&m.Summary, s.keys)
		if !ok {
			doc, err := d.Store.Get(ctx, m.Key)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return v, err
			}
			if e, err := envelope.Parse(doc.Data); err == nil { // else it was taken meanwhile, and has no verdict any more
				v = trust.Judge(e, s.keys.Active, s.keys.Revoked, s.keys.Pins)
			}
		}
		v.RoleNotRegistered = trust.RoleNotRegistered(m.Summary.Actor.Role, s.roles)
		return v, nil
	}
}

// runOutbox lists what was sent.
func runOutbox(ctx context.Context, c *Call) error {
	d, err := c.looker(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	var l list
	var rows [][]string
	var bad []error
	q := store.Query{Newest: c.count("newest", defaultNewest)}
	for row, err := range store.ViewOf(ctx, d.Store, store.Outbox, d.who.Instance.Mailbox(), d.Mail.Projection, q) {
		var unfit *store.UnfitError
		if errors.As(err, &unfit) {
			bad = append(bad, err)
			continue
		}
		if err != nil {
			return err
		}
		s, err := envelope.Decode(row.Summary)
		if err != nil {
			return err
		}
		m := &mailbox.Message{Key: row.Key, Summary: s, ID: s.ID, Order: row.Order, Stored: row.Stored}
		if c.json {
			l.obj(summaryJSON(m))
			continue
		}
		rows = append(rows, c.row(d.now, m, "to "+string(s.Target), ""))
	}
	c.sayUnfit(bad)
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(rows) == 0:
		c.line("nothing sent by " + Clean(string(d.who.Instance)))
	default:
		c.table(rows)
	}
	return nil
}

// runInboxHeld lists what the settings held back.
func runInboxHeld(ctx context.Context, c *Call) error {
	d, err := c.looker(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	found, bad, err := d.Mail.ListQuarantine(ctx, d.who.Instance)
	if err != nil {
		return err
	}
	c.sayUnfit(bad)
	var l list
	var rows [][]string
	for i := range found {
		m := found[i].Message
		m.Summary = m.Envelope.Summary()
		why := found[i].Why
		if c.json {
			o := summaryJSON(m)
			o.Opt("reason", why)
			l.obj(o)
			continue
		}
		rows = append(rows, c.row(d.now, m, string(m.Summary.Actor.Instance), why))
	}
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(rows) == 0:
		c.line("nothing is held back from " + Clean(string(d.who.Instance)))
	default:
		c.table(rows)
	}
	return nil
}
