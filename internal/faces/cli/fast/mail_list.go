package fast

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// DefaultNewest is how many messages a list shows by default: a screen.
const DefaultNewest = 20

// maxCell is the width that one column of a list takes on a terminal at most: names have up to 255 bytes, and one of them
// should not push all others off the screen.
const maxCell = 44

type inboxOptions struct {
	All, Unread bool
	Newest      int
	Instance    string
}

// runInbox lists the mailbox.
func runInbox(ctx context.Context, c *kit.Call, opt *inboxOptions) error {
	d, err := c.Looker(ctx, opt.Instance)
	if err != nil {
		return err
	}
	defer d.Close()
	q := mailbox.Query{Newest: kit.Or(c, &opt.Newest, DefaultNewest), Brief: true, States: true, Unread: opt.Unread}
	if opt.All {
		if c.IsSet(&opt.Newest) {
			return kit.Usagef("inbox: either --all or --newest, not both")
		}
		q.Newest = 0
	}
	done := sayIndexed(c, d)
	found, bad, err := d.Mail.Lines(ctx, d.Who.Instance, q)
	done()
	if err != nil {
		return err
	}
	if c.JSON {
		return inboxJSON(ctx, c, d, found, bad)
	}
	rows, unread, unfit, err := inboxRows(ctx, c, d, found)
	if err != nil {
		return err
	}
	sayUnfit(c, append(bad, unfit...))
	if err := c.Long(&rows); err != nil {
		return err
	}
	inboxFoot(c, d, len(rows.Rows), unread, q)
	return nil
}

// sayIndexed says on a terminal how many messages were read: of a large mailbox that was never listed, all are read once and verified.
func sayIndexed(c *kit.Call, d *kit.Account) (done func()) {
	step, done := c.Progress("messages read for the first list of this mailbox")
	rows := *d.Mail.Projection
	read, row := atomic.Int64{}, rows.Make
	rows.Make = func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
		defer func() { step(int(read.Add(1))) }()
		return row(data, stored)
	}
	d.Mail.Projection = &rows
	return done
}

// inboxRows makes the rows of a list and counts what is unread among them. bad has the files that make no row.
func inboxRows(ctx context.Context, c *kit.Call, d *kit.Account, found []mailbox.Line) (rows kit.Grid, unread int, bad []error, err error) {
	judge := d.Office.ListJudge(d.Who.Instance)
	var s envelope.Summary
	for i := range found {
		l := &found[i]
		if err := l.Summary(&s); err != nil {
			bad = append(bad, err)
			continue
		}
		v, err := judge(ctx, l.Key(), &s)
		if err != nil {
			return rows, 0, nil, err
		}
		star := " "
		if !l.Seen() {
			star = "*"
			unread++
		}
		word := v.Said()
		if v.RoleNotRegistered {
			word += ", role not registered"
		}
		rows.Add(star, Cell(c, s.ID), kit.Ago(d.Now.Sub(time.UnixMilli(l.Order))), Cell(c, kit.Name(s.Actor.Instance)), word,
			Cell(c, s.ThreadID), subject(&s))
	}
	return rows, unread, bad, nil
}

// inboxJSON is the list for programs.
func inboxJSON(ctx context.Context, c *kit.Call, d *kit.Account, found []mailbox.Line, bad []error) error {
	judge := d.Office.ListJudge(d.Who.Instance)
	out := c.Array()
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
		if err := out.Add(render.JSON(viewListed(m, v))); err != nil {
			return err
		}
	}
	sayUnfit(c, bad)
	out.End()
	return nil
}

// inboxFoot says what there is to do. Unread mail below what was listed is not counted: that would cost more than the list.
func inboxFoot(c *kit.Call, d *kit.Account, n, unread int, q mailbox.Query) {
	switch {
	case n == 0 && q.Unread:
		c.Line("nothing unread for " + kit.Name(d.Who.Instance))
	case n == 0:
		c.Prose("", 0, "no mail for "+kit.Name(d.Who.Instance)+" (bus "+kit.Clean(c.App.Shown(d.Root.Path))+": "+d.Root.Source.Why()+")")
	case unread == 0:
		c.Line("nothing unread among these")
	case unread == n && n == q.Newest:
		c.Prose("", 0, fmt.Sprintf("%d unread or more%s", unread, readHint(c)))
	default:
		c.Prose("", 0, fmt.Sprintf("%d unread%s", unread, readHint(c)))
	}
}

// readHint ends a line about unread mail with what to type. An agent may not read the mail of another one, and gets no hint.
func readHint(c *kit.Call) string {
	switch {
	case c.Under == kit.H2A || c.Text("instance") == "":
		return "; " + receives(c) + " shows them"
	case c.BelowAgent():
		return ""
	}
	return "; " + receives(c) + " shows them and marks them as shown"
}

// receives is what to type to read the mail of the same agent.
func receives(c *kit.Call) string {
	text := called(c) + " receive"
	as := c.As()
	if as == "" && c.Verb.Name == "inbox" { // whose --as is an alias
		as = c.Text("instance")
	}
	if as != "" && c.Under != kit.H2A {
		text += " --as " + app.QuoteArg(kit.Clean(as))
	}
	if root := c.RootFlag(); root != "" {
		text += " --root " + app.QuoteArg(kit.Clean(root))
	}
	return text
}

// list prints a list of messages: l is it for programs, none is said where there are none.
func list[T any](c *kit.Call, l []T, rows [][]string, none string) {
	switch {
	case c.JSON:
		c.Result(render.List(l))
	case len(rows) == 0:
		c.Line(kit.Clean(none))
	default:
		c.Rows(rows)
	}
}

// rowOf is one message of a list: id, age, who, a word, thread, kind and first line.
func rowOf(c *kit.Call, now time.Time, m *mailbox.Message, who, word string) []string {
	s := &m.Summary
	return []string{Cell(c, s.ID), kit.Ago(now.Sub(time.UnixMilli(m.Order))), Cell(c, who), word, Cell(c, s.ThreadID), subject(s)}
}

// subject is kind and first line, clean.
func subject(s *envelope.Summary) string {
	if s.Kind != "" && s.Kind != "message" {
		return "[" + kit.Clean(s.Kind) + "] " + FirstWords(s.Preview)
	}
	return FirstWords(s.Preview)
}

func Cell(c *kit.Call, s string) string {
	if s = kit.Clean(s); c.Columns > 0 {
		return kit.Truncate(s, maxCell)
	}
	return s
}

// A summaryView is a message in a list, for programs.
type summaryView struct {
	ID        string           `json:"id"`
	From      address.Instance `json:"from"`
	To        address.Instance `json:"to,omitempty"`
	Role      string           `json:"role"` // what the sender claims to be
	Kind      string           `json:"kind,omitempty"`
	Thread    string           `json:"thread,omitempty"`
	ReplyTo   string           `json:"replyTo,omitempty"` // the message that this one answers
	CreatedAt string           `json:"createdAt"`
	storedView
	Preview string `json:"preview"` // how the text begins
	Size    int    `json:"size"`    // of the envelope, in bytes
}

// A listedView is a message in the mailbox.
type listedView struct {
	summaryView
	Verdict           string           `json:"verdict"` // what the signature is worth
	VerdictDetail     string           `json:"verdictDetail,omitempty"`
	AddressedTo       address.Instance `json:"addressedTo,omitempty"` // another agent, for which it was signed
	RoleNotRegistered bool             `json:"roleNotRegistered"`
	Unread            bool             `json:"unread"` // it was not shown yet
}

// A sentView is a message in the outbox.
type sentView struct {
	summaryView
	Carriage    string `json:"carriage,omitempty"` // of a message to another machine: what became of it
	CarriageWhy string `json:"carriageWhy,omitempty"`
}

// A heldView is a message in quarantine.
type heldView struct {
	summaryView
	Reason string `json:"reason,omitempty"`
}

func viewListed(m *mailbox.Message, v trust.Verdict) listedView {
	return listedView{viewSummary(m), v.Word.String(), v.Detail, v.AddressedTo, v.RoleNotRegistered, !m.State.Seen()}
}

func viewSummary(m *mailbox.Message) summaryView {
	s := &m.Summary
	return summaryView{s.ID, s.Actor.Instance, s.Target, s.Actor.Role, s.Kind, s.ThreadID, s.ReplyTo, s.CreatedAt, viewStored(m), s.Preview, s.Size}
}

type outboxOptions struct {
	Newest   int
	Instance string
}

// runOutbox lists what was sent.
func runOutbox(ctx context.Context, c *kit.Call, opt *outboxOptions) error {
	d, err := c.Looker(ctx, opt.Instance)
	if err != nil {
		return err
	}
	defer d.Close()
	var l []sentView
	var rows [][]string
	var bad []error
	var sent []*mailbox.Message
	q := store.Query{Newest: kit.Or(c, &opt.Newest, DefaultNewest)}
	for row, err := range store.ViewOf(ctx, d.Store, store.Outbox, d.Who.Instance.Mailbox(), d.Mail.Projection, q) {
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
		sent = append(sent, &mailbox.Message{Key: row.Key, Summary: s, ID: s.ID, Order: row.Order, Stored: row.Stored})
	}
	if err := carriedStates(ctx, d, sent); err != nil {
		return err
	}
	for _, m := range sent {
		way := m.State.Way()
		if c.JSON {
			l = append(l, sentView{viewSummary(m), string(way.Step), way.Result})
			continue
		}
		rows = append(rows, rowOf(c, d.Now, m, "to "+kit.Name(m.Summary.Target), kit.Clean(way.Said())))
	}
	sayUnfit(c, bad)
	list(c, l, rows, "nothing sent by "+kit.Name(d.Who.Instance))
	return nil
}

// carriedStates fills in what the trails say of messages to agents on other machines.
func carriedStates(ctx context.Context, d *kit.Account, sent []*mailbox.Message) error {
	by := map[address.Instance][]string{}
	for _, m := range sent {
		by[m.Summary.Target] = append(by[m.Summary.Target], m.ID)
	}
	for to, ids := range by {
		if address.Check(string(to)) != nil {
			continue
		}
		states, err := d.Mail.State(ctx, to, ids)
		if err != nil {
			return err
		}
		for _, m := range sent {
			if m.Summary.Target == to {
				m.State = states[m.ID]
			}
		}
	}
	return nil
}

type heldOptions struct{ Instance string }

// runInboxHeld lists what the settings held back.
func runInboxHeld(ctx context.Context, c *kit.Call, opt *heldOptions) error {
	d, err := c.Looker(ctx, opt.Instance)
	if err != nil {
		return err
	}
	defer d.Close()
	found, bad, err := d.Mail.ListQuarantine(ctx, d.Who.Instance)
	if err != nil {
		return err
	}
	sayUnfit(c, bad)
	var l []heldView
	var rows [][]string
	for i := range found {
		m := found[i].Message
		m.Summary = m.Envelope.Summary()
		why := found[i].Why
		if c.JSON {
			l = append(l, heldView{viewSummary(m), why})
			continue
		}
		rows = append(rows, rowOf(c, d.Now, m, kit.Name(m.Summary.Actor.Instance), why))
	}
	list(c, l, rows, "nothing is held back from "+kit.Name(d.Who.Instance))
	return nil
}
