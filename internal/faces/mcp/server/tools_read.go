package server

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/mcp/wire"
)

// readMessage shows a slice of the text of one message, wherever it lies.
func readMessage(ctx context.Context, c *call) (*canonjson.Object, error) {
	id, err := c.need("id")
	if err != nil {
		return nil, err
	}
	own, err := c.speaker(ctx, c.bus, true)
	if err != nil {
		return nil, err
	}
	m, err := c.Mail.Find(ctx, own.Instance, id)
	if err != nil {
		return nil, err
	}
	item, err := c.let(ctx, m)
	if err != nil {
		return nil, err
	}
	text := item.Envelope.Text()
	from := c.count("offset", 0, len(text))
	for from > 0 && from < len(text) && text[from]&0xc0 == 0x80 {
		from-- // into the character that begins before it
	}
	return slice(item, text, from), nil
}

// slice is as much of a text, from an offset on, as one answer takes. What the text does not begin with is not repeated.
func slice(item *mail.Item, text string, from int) *canonjson.Object {
	cut := func(n int, bare bool) *canonjson.Object {
		var o canonjson.Object
		o.Str("id", word(item.Envelope.ID))
		o.Str("from", word(string(item.Envelope.Actor.Instance)))
		verification(&o, item)
		part := head(text[from:], n)
		o.Str("text", part)
		o.Int("offset", int64(from))
		o.Int("size", int64(len(text)))
		if end := from + len(part); end < len(text) {
			o.Int("nextOffset", int64(end))
			o.Str("next", readOn(word(item.Envelope.ID), end))
		}
		if from == 0 && !bare {
			if data := dataOf(item.Envelope); len(data) <= maxData {
				o.Raw("data", data)
			}
			about(&o, item)
		}
		return &o
	}
	rest := len(text) - from
	if whole := cut(rest, false); wire.Fits(whole.Bytes()) {
		return whole
	}
	bare := !wire.Fits(cut(min(rest, minText), false).Bytes())
	// The largest part that fits. Below utf8's four bytes nothing would be shown, and one would go on for ever.
	n := sort.Search(min(rest, wire.MaxResult), func(n int) bool { return !wire.Fits(cut(n+1, bare).Bytes()) })
	return cut(max(n, 4), bare)
}

// maxThreadText is how much of each text is shown where a whole conversation is.
const maxThreadText = 2000

// thread shows a conversation.
func thread(ctx context.Context, c *call) (*canonjson.Object, error) {
	id, err := c.need("thread")
	if err != nil {
		return nil, err
	}
	own, err := c.speaker(ctx, c.bus, true)
	if err != nil {
		return nil, err
	}
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
			item, err := c.judged(ctx, m)
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
	l := c.paged("messages", tooLong)
	return &o, l.fill(&o, rows)
}
