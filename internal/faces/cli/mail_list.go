package cli

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
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
	found, bad, err := d.Mail.Lines(ctx, d.who.Instance, q)
	if err != nil {
		return err
	}
	if c.json {
		return c.inboxJSON(ctx, d, found, bad)
	}
	sheets, err := c.inboxSheets(ctx, d, found)
	if err != nil {
		return err
	}
	shown, unread := 0, 0
	for i := range sheets {
		bad = append(bad, sheets[i].bad...)
		shown, unread = shown+len(sheets[i].rows.ends), unread+sheets[i].unread
	}
	c.sayUnfit(bad)
	for i := range sheets {
		if err := c.long(sheets[i].rows); err != nil {
			return err
		}
	}
	c.inboxFoot(d, shown, unread, q)
	return nil
}

// A sheet is a part of a list as it is printed.
type sheet struct {
	rows   *grid
	unread int     // of the rows
	bad    []error // what is no row
}

// The rows of a long list are made by several goroutines: that is as much work as to look at the files of its messages. Each
// looks up the senders that it meets, so it gets some hundred rows at least.
const (
	leastOfSheet = 500
	mostSheets   = 4
)

// inboxSheets makes the rows of a list, in order and aligned, in as many sheets as are worth it.
func (c *Call) inboxSheets(ctx context.Context, d *desk, found []mailbox.Line) ([]sheet, error) {
	sheets := make([]sheet, max(1, min(mostSheets, runtime.GOMAXPROCS(0), len(found)/leastOfSheet)))
	errs := make([]error, len(sheets))
	var others sync.WaitGroup
	for i := range sheets {
		part := found[i*len(found)/len(sheets) : (i+1)*len(found)/len(sheets)]
		fill := func() { errs[i] = c.inboxRows(ctx, d, part, &sheets[i]) }
		if i < len(sheets)-1 {
			others.Go(fill)
		} else {
			fill()
		}
	}
	others.Wait()
	for i := range sheets {
		sheets[0].rows.align(sheets[i].rows)
	}
	for i := range sheets {
		sheets[i].rows.widths = sheets[0].rows.widths
	}
	return sheets, cmp.Or(errs...)
}

// inboxRows makes the rows of a sheet and counts what is unread among them.
func (c *Call) inboxRows(ctx context.Context, d *desk, found []mailbox.Line, to *sheet) error {
	judge := d.judge()
	to.rows = gridFor(len(found), 7)
	var s envelope.Summary
	var age ager
	for i := range found {
		l := &found[i]
		if err := l.Summary(&s); err != nil {
			to.bad = append(to.bad, err)
			continue
		}
		v, err := judge(ctx, l.Key(), &s)
		if err != nil {
			return err
		}
		star := " "
		if !l.Seen() {
			star = "*"
			to.unread++
		}
		word := v.Word.String()
		if v.RoleNotRegistered {
			word += ", role not registered"
		}
		to.rows.add(star, c.cell(s.ID), age.ago(d.now.Sub(time.UnixMilli(l.Order))), c.cell(string(s.Actor.Instance)), word,
			c.cell(s.ThreadID), subject(&s))
	}
	return nil
}

// inboxJSON is the list for programs.
func (c *Call) inboxJSON(ctx context.Context, d *desk, found []mailbox.Line, bad []error) error {
	judge := d.judge()
	out := c.array()
	for i := range found {
		m, err := found[i].Message()
		if err != nil {
			bad = append(bad, err)
			continue
		}
		v, err := judge(ctx, m.Key, &m.Summary)
		if err != nil {
			return err
		}
		if err := out.add(listedJSON(m, v)); err != nil {
			return err
		}
	}
	c.sayUnfit(bad)
	out.end()
	return nil
}

// inboxFoot says what there is to do. Unread mail below what was listed is not counted: that would cost more than the list.
func (c *Call) inboxFoot(d *desk, n, unread int, q mailbox.Query) {
	switch {
	case n == 0 && q.Unread:
		c.line("nothing unread for " + Clean(string(d.who.Instance)))
	case n == 0:
		c.prose("", 0, "no mail for "+Clean(string(d.who.Instance))+" (bus "+Clean(c.App.Shown(d.Root.Path))+": "+d.Root.Source.Why()+")")
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
	return []string{c.cell(s.ID), ago(now.Sub(time.UnixMilli(m.Order))), c.cell(who), word, c.cell(s.ThreadID), subject(s)}
}

// subject is kind and first line, clean.
func subject(s *envelope.Summary) string {
	if s.Kind != "" && s.Kind != "message" {
		return "[" + Clean(s.Kind) + "] " + firstWords(s.Preview)
	}
	return firstWords(s.Preview)
}

func (c *Call) cell(s string) string {
	if s = Clean(s); c.columns > 0 {
		return Truncate(s, maxCell)
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

// A sender is whom a list has met: his keys, and the verdict on his message before.
type sender struct {
	keys    trust.Keys
	roles   []string
	judged  bool // proof and verdict are those of a message
	proof   proof
	verdict trust.Verdict
}

// A proof is what the verdict on a message of a sender depends on.
type proof struct {
	signed, own  int
	whole        bool
	by           signature.Public
	keySet, role string
}

// judge returns what judges the messages of a list. It looks up each sender once, and opens a message only when its row does
// not say which key it was verified with.
func (d *desk) judge() func(context.Context, store.Key, *envelope.Summary) (trust.Verdict, error) {
	known := map[address.Instance]*sender{}
	return func(ctx context.Context, at store.Key, m *envelope.Summary) (v trust.Verdict, err error) {
		from := known[m.Actor.Instance]
		p := proof{m.Signed, m.Own, m.Whole, m.VerifiedBy, m.KeySet, m.Actor.Role}
		switch {
		case from == nil:
			from = &sender{}
			if from.keys, from.roles, err = d.office.Sender(ctx, m.Actor.Instance); err != nil {
				return v, err
			}
			known[m.Actor.Instance] = from
		case from.judged && from.proof == p:
			return from.verdict, nil
		}
		v, ok := trust.JudgeSummary(m, from.keys)
		if !ok {
			doc, err := d.Store.Get(ctx, at)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return v, err
			}
			if e, err := envelope.Parse(doc.Data); err == nil { // else it was taken meanwhile, and has no verdict any more
				v = from.keys.Judge(e)
			}
		}
		v.RoleNotRegistered = trust.RoleNotRegistered(m.Actor.Role, from.roles)
		if ok {
			from.judged, from.proof, from.verdict = true, p, v
		}
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
