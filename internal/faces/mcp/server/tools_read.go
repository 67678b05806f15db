package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
)

// readMessage shows a slice of the text of one message, wherever it lies.
func readMessage(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
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
	answer := func(x *extras) func(*textSlice) any {
		return func(part *textSlice) any {
			o := shownSlice{ID: word(e.ID), From: name(e.Actor.Instance), worth: worthOf(item), textSlice: part, extras: x}
			if part.NextOffset > 0 {
				o.Next = readOn(word(e.ID), part.NextOffset)
			}
			return o
		}
	}
	var beside *extras
	if from == 0 { // what the text does not begin with is not repeated
		beside = extrasOf(item)
		if len(beside.Data) > maxData {
			beside.Data = nil
		}
	}
	o, enough := slice(text, from, answer(beside))
	if !enough {
		o, _ = slice(text, from, answer(nil))
	}
	return o, nil
}

// A shownSlice is a message with a part of its text.
type shownSlice struct {
	ID   string `json:"id"`
	From string `json:"from"`
	worth
	*textSlice
	Next string `json:"next,omitempty"` // the call that reads on
	*extras
}

// A textSlice is a part of a text.
type textSlice struct {
	Text       string `json:"text"`
	Offset     int    `json:"offset"`               // byte of the text at which the part begins
	Size       int    `json:"size"`                 // bytes of the text
	NextOffset int    `json:"nextOffset,omitempty"` // where the next part begins; absent: this is the end
}

// slice is as much of a text, from an offset on, as an answer takes. enough: it is the rest, or something worth reading.
func slice(text string, from int, answer func(*textSlice) any) (o any, enough bool) {
	for from > 0 && from < len(text) && text[from]&0xc0 == 0x80 {
		from-- // into the character that begins before it
	}
	cut := func(n int) any {
		part := &textSlice{Text: termsafe.Head(text[from:], n), Offset: from, Size: len(text)}
		if end := from + len(part.Text); end < len(text) {
			part.NextOffset = end
		}
		return answer(part)
	}
	rest := len(text) - from
	if o := cut(rest); fits(o) {
		return o, true
	}
	// The largest part that fits. Below utf8's four bytes nothing would be shown, and one would go on for ever.
	n := sort.Search(min(rest, wire.MaxResult), func(n int) bool { return !fits(cut(n + 1)) })
	return cut(max(n, 4)), n >= min(rest, minText)
}

// maxThreadText is how much of each text is shown where a whole conversation is.
const maxThreadText = 2000

// thread shows a conversation.
func thread(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	id := c.text("thread")
	found, err := c.office.Conversation(ctx, []address.Instance{own.Instance}, id)
	if errors.Is(err, mailbox.ErrNoMessage) {
		return nil, c.refuse("tutti_receive and tutti_send name the thread of each message", "no thread %s, and no message of that id", word(id))
	}
	if err != nil {
		return nil, err
	}
	all := found.Messages()
	rows := make([]row[any], len(all))
	for n, m := range all {
		rows[n] = row[any]{key: fmt.Sprintf("%s %s", word(m.Envelope.CreatedAt), m.Key.Name), id: m.ID, make: func() (any, error) {
			item, err := c.judged(ctx, own.Instance, m)
			if err != nil {
				return nil, err
			}
			if why := c.office.Withholds(item); why != "" {
				e := item.Envelope
				return withheld{word(e.ID), name(e.Actor.Instance), why, word(e.CreatedAt)}, nil
			}
			if v := fitted(item, maxThreadText, func(v messageView) any { return v }); v != nil {
				return v, nil
			}
			return nil, errLeftOut
		}}
	}
	return answerPage(c, tooLong, rows, func(p page[any]) any {
		return conversation{word(cmp.Or(found.Thread, id)), len(found.Unfit), p.rows, p.pageTail}
	})
}

// A conversation is a page of a thread.
type conversation struct {
	Thread   string `json:"thread"`
	Unfit    int    `json:"unfit,omitempty"` // files that are not messages
	Messages []any  `json:"messages"`        // as of tutti_receive; a message that the user's settings withhold has id, from, withheld and at
	pageTail
}
