package server

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
)

// readMessage shows a slice of the text of one message, wherever it lies.
func readMessage(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
	m, err := c.Mail.Find(ctx, own.Instance, c.text("id"))
	if err != nil {
		return nil, err
	}
	item, err := c.let(ctx, own.Instance, m)
	if err != nil {
		return nil, err
	}
	e := item.Envelope
	text := e.Text()
	from := c.count("offset", 0, len(text))
	begin := func() *canonjson.Object {
		var o canonjson.Object
		o.Str("id", word(e.ID))
		o.Str("from", name(e.Actor.Instance))
		verification(&o, item)
		return &o
	}
	next := func(o *canonjson.Object, end int) {
		if end < len(text) {
			o.Str("next", readOn(word(e.ID), end))
		}
	}
	o, enough := slice(text, from, begin, func(o *canonjson.Object, end int) {
		next(o, end)
		if from == 0 { // what the text does not begin with is not repeated
			if data := dataOf(e); len(data) <= maxData {
				o.Raw("data", data)
			}
			about(o, item)
		}
	})
	if !enough {
		o, _ = slice(text, from, begin, next)
	}
	return o, nil
}

// slice is as much of a text, from an offset on, as an answer takes that begins as begin says and ends, behind a text that goes up to end, as
// finish does. enough: it is the rest, or something worth reading.
func slice(text string, from int, begin func() *canonjson.Object, finish func(o *canonjson.Object, end int)) (o *canonjson.Object, enough bool) {
	for from > 0 && from < len(text) && text[from]&0xc0 == 0x80 {
		from-- // into the character that begins before it
	}
	cut := func(n int) *canonjson.Object {
		o := begin()
		part := termsafe.Head(text[from:], n)
		o.Str("text", part)
		o.Int("offset", int64(from))
		o.Int("size", int64(len(text)))
		end := from + len(part)
		if end < len(text) {
			o.Int("nextOffset", int64(end))
		}
		finish(o, end)
		return o
	}
	rest := len(text) - from
	if o := cut(rest); wire.Fits(o.Bytes()) {
		return o, true
	}
	// The largest part that fits. Below utf8's four bytes nothing would be shown, and one would go on for ever.
	n := sort.Search(min(rest, wire.MaxResult), func(n int) bool { return !wire.Fits(cut(n + 1).Bytes()) })
	return cut(max(n, 4)), n >= min(rest, minText)
}

// maxThreadText is how much of each text is shown where a whole conversation is.
const maxThreadText = 2000

// thread shows a conversation.
func thread(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
	id := c.text("thread")
	all, unfit, err := c.Mail.Thread(ctx, own.Instance, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		m, err := c.Mail.Find(ctx, own.Instance, id)
		if errors.Is(err, mailbox.ErrNoMessage) {
			return nil, c.refuse("tutti_receive and tutti_send name the thread of each message", "no thread %s, and no message of that id", word(id))
		}
		if err != nil {
			return nil, err
		}
		if all = []*mailbox.Message{m}; m.Envelope.ThreadID != "" {
			id = m.Envelope.ThreadID
			if all, unfit, err = c.Mail.Thread(ctx, own.Instance, id); err != nil {
				return nil, err
			}
		}
	}
	rows := make([]row, len(all))
	for n, m := range all {
		rows[n] = row{key: fmt.Sprintf("%s %s", word(m.Envelope.CreatedAt), m.Key.Name), id: m.ID, make: func() ([]byte, error) {
			item, err := c.judged(ctx, own.Instance, m)
			if err != nil {
				return nil, err
			}
			if why := c.office.Withholds(item); why != "" {
				return withheldJSON(item, why), nil
			}
			return fitted(item, maxThreadText, func(raw []byte) []byte { return raw }), nil
		}}
	}
	var o canonjson.Object
	o.Str("thread", word(id))
	if len(unfit) > 0 {
		o.Int("unfit", int64(len(unfit)))
	}
	return c.page(&o, "messages", tooLong, rows)
}
