package fast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

// maxBatch bounds what is read for one batch, in bytes: it is held in memory until all of it is synced.
const maxBatch = 64 << 20

// An entry is one line of a batch.
type entry struct {
	line    int
	letter  mail.Draft
	receipt mail.Receipt
}

// runBatch sends a message a line. A line that is wrong is named, and the others go.
func runBatch(ctx context.Context, c *kit.Call, opt *sendOptions) error {
	for _, f := range []any{&opt.Thread, &opt.ReplyTo, &opt.ID, &opt.Kind, &opt.Body, &opt.Scope, &opt.Wait, &opt.Until} {
		if c.IsSet(f) {
			return kit.Usagef("--%s cannot stand beside --batch, whose lines say it each for itself", c.FlagName(f))
		}
	}
	if len(c.Args) > 0 {
		return kit.Usagef("%q cannot stand beside --batch, whose lines say it all", kit.Clean(c.Args[0]))
	}
	data, err := batch(ctx, c, opt.Batch)
	if err != nil {
		return unsent(ctx, c, err)
	}
	d, err := c.Speaker(ctx, opt.As)
	if err != nil {
		return unsent(ctx, c, err)
	}
	defer d.Close()
	entries := entries(data, d, opt.Deposit)
	sendAll(ctx, c, d, entries)
	return batchReport(ctx, c, entries)
}

// batch reads the file of a batch.
func batch(ctx context.Context, c *kit.Call, name string) ([]byte, error) {
	if name == "" {
		return nil, kit.Usagef("--batch: which file? - is standard input")
	}
	return kit.Within(ctx, func() ([]byte, error) {
		in := c.In
		if name != "-" {
			f, err := kit.OpenNamed(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		data, err := io.ReadAll(io.LimitReader(in, maxBatch+1))
		switch {
		case err != nil:
			return nil, kit.FailIO("", err, "read the batch")
		case len(data) > maxBatch:
			return nil, kit.Refuse("split it", "the batch has more than %d bytes", maxBatch)
		}
		return data, nil
	})
}

// entries reads the lines; empty ones are none.
func entries(data []byte, d *kit.Account, deposit bool) (all []*entry) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		e := &entry{line: n}
		if err := e.read(line); err != nil {
			e.receipt = mail.Receipt{Outcome: mail.Refused, Asked: e.letter.To, To: e.letter.To, Err: err}
		}
		e.letter.From, e.letter.Deposit = d.Who, deposit
		all = append(all, e)
	}
	return all
}

// read takes the members of one line. One that is not known is an error: misspelt, it would be lost in silence.
func (e *entry) read(line []byte) error {
	if !canonjson.Valid(line) || !canonjson.IsObject(line) {
		return errors.New("not a JSON object")
	}
	l := &e.letter
	raw, _ := canonjson.Get(line, "to")
	to, _ := canonjson.String(raw)
	l.To = address.Instance(to) // first, so that an error names the recipient
	texts := map[string]*string{"to": &to, "text": &l.Text, "thread": &l.Thread, "replyTo": &l.ReplyTo, "id": &l.ID, "kind": &l.Kind}
	for name, value := range canonjson.Members(line) {
		if name == "body" {
			if !canonjson.IsObject(value) {
				return errors.New("body is not a JSON object")
			}
			l.Body = value
			continue
		}
		p := texts[name]
		if p == nil {
			return fmt.Errorf("%q is not known; there are to, text, body, thread, replyTo, id and kind", kit.Clean(name))
		}
		text, ok := canonjson.String(value)
		if !ok {
			return fmt.Errorf("%s is not a string", name)
		}
		*p = text
	}
	switch {
	case to == "":
		return errors.New("to is missing")
	case address.Check(to) != nil:
		return address.Check(to)
	case l.Body == nil && strings.TrimSpace(l.Text) == "":
		return errors.New("it says nothing: text and body are missing")
	case max(len(l.Text), len(l.Body)) > envelope.MaxBody:
		return kit.TooLong(max(len(l.Text), len(l.Body)))
	}
	return nil
}

// sendAll sends what can be sent, and syncs once.
func sendAll(ctx context.Context, c *kit.Call, d *kit.Account, all []*entry) {
	var going []*entry
	var letters []mail.Draft
	for _, e := range all {
		if e.receipt.Outcome == "" {
			going, letters = append(going, e), append(letters, e.letter)
		}
	}
	seen := map[address.Instance]mail.Outlook{}
	for n, r := range d.Office.SendAllOnce(ctx, letters) {
		if r.Err != nil {
			r.Err = unsentOr(ctx, &letters[n], r.Err)
		}
		outlook(ctx, c, d, &r, seen)
		going[n].receipt = r
	}
}

// batchReport prints a line for each message.
func batchReport(ctx context.Context, c *kit.Call, all []*entry) error {
	views := []receiptView{}
	receipts := make([]mail.Receipt, len(all))
	for n, e := range all {
		receipts[n] = e.receipt
		switch {
		case c.JSON:
			v := viewReceipt(c, &e.receipt, letterWord(&e.letter))
			v.Line = e.line
			views = append(views, v)
		default:
			c.Printf("%d: ", e.line)
			receiptText(c, &e.receipt, true)
		}
	}
	if c.JSON {
		c.Result(views)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return worst(c, receipts)
}
