package cli

import (
	"context"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/store"
)

// maxShownBody is how much of one body is shown at once, in bytes: what a model is given beside its work should not crowd
// that out.
const maxShownBody = 12000

// notUser stands above every body that is shown.
const (
	notUser = "text of a peer, not of your user:"
	own     = "sent from here:"
)

// wholes prints messages as they stand.
func (c *Call) wholes(all []*mailbox.Whole, bad []error, err error) error {
	if err != nil {
		return err
	}
	c.sayUnfit(bad)
	out := c.array()
	for _, w := range all {
		if err := out.add(w.Raw); err != nil {
			return err
		}
	}
	out.end()
	return nil
}

// messages prints messages one after the other: the envelopes as JSON, or as people read them.
func (c *Call) messages(ctx context.Context, d *desk, all []*mailbox.Message, bad []error, none string) error {
	return c.messagesBy(ctx, d, all, bad, none, fromOnly)
}

// messagesBy is messages; ends names the sender of each, and its recipient where that is not plain.
func (c *Call) messagesBy(ctx context.Context, d *desk, all []*mailbox.Message, bad []error, none string, ends func(*envelope.Envelope) string) error {
	c.sayUnfit(bad)
	if c.json {
		out := c.array()
		for _, m := range all {
			if err := out.add(m.Envelope.Raw); err != nil {
				return err
			}
		}
		out.end()
		return nil
	}
	if len(all) == 0 {
		c.line(none)
	}
	for n, m := range all {
		item, err := d.judged(ctx, m)
		if err != nil {
			return err
		}
		if n > 0 {
			c.line("")
		}
		c.showBy(&item, d.now, maxShownBody, ends)
		if err := c.flushLong(); err != nil {
			return err
		}
	}
	return nil
}

// show prints one message. Each line of the body stands behind a bar, so that no body can look like the lines around it.
func (c *Call) show(item *mail.Item, now time.Time, limit int) { c.showBy(item, now, limit, fromOnly) }

func (c *Call) showBy(item *mail.Item, now time.Time, limit int, ends func(*envelope.Envelope) string) {
	e := item.Envelope
	c.line(c.paint(bold, ends(e)) + " — " + c.word(item.Verdict) + " — " +
		ago(now.Sub(time.UnixMilli(item.Order))))
	c.line("id " + Clean(e.ID) + facts(e))
	for _, note := range notes(item) {
		c.line(c.paint(yellow, "! "+note))
	}
	if item.Key.Kind == store.Outbox {
		c.line(own)
	} else {
		c.line(notUser)
	}
	text := e.Text()
	cut := termsafe.Head(text, limit)
	for line := range strings.SplitSeq(strings.TrimRight(CleanBlock(cut), "\n"), "\n") {
		c.quoted(line)
	}
	if len(cut) < len(text) {
		c.printf("cut after %d of %d bytes; the whole: %s inbox read %s\n", len(cut), len(text), c.called(), app.QuoteArg(Clean(e.ID)))
	}
}

// quoted prints one line of a body behind a bar. A terminal would go on at its left edge with a line that is too long, where
// a body could then write what looks like ours, so it is broken here.
func (c *Call) quoted(line string) {
	for c.columns > minQuoted && Width(line) > c.columns-2 {
		part := strings.TrimSuffix(Truncate(line, c.columns-1), "…") // one column less than that, and whole characters
		if part == "" {
			break
		}
		c.line("| " + part)
		line = line[len(part):]
	}
	c.line("| " + line)
}

// minQuoted is the narrowest terminal on which lines are broken: on one that is narrower nothing is legible anyway.
const minQuoted = 8

// facts are what is known of a message beside its sender, for one line.
func facts(e *envelope.Envelope) string {
	s := ""
	for _, f := range [][2]string{{"thread", e.ThreadID}, {"kind", e.Kind()}, {"answers", e.ReplyTo}} {
		if f[1] != "" {
			s += " · " + f[0] + " " + Clean(f[1])
		}
	}
	return s
}

// notes are what a reader should know before reading. None holds a text of the sender but the role, which is one of six.
func notes(item *mail.Item) []string {
	var all []string
	if v := item.Verdict; v.Detail != "" && v.Word != trust.Verified {
		all = append(all, Clean(v.Detail))
	}
	if item.Verdict.RoleNotRegistered {
		all = append(all, "role not registered: it claims to be "+Clean(item.Envelope.Actor.Role))
	}
	if item.Envelope.Via() != "" {
		all = append(all, "sent without a person at the terminal: "+Clean(termsafe.Head(item.Envelope.Via(), 40)))
	}
	if item.Channel {
		all = append(all, "sent to the label, not to you alone: you read it because no owner of the label is live")
	}
	return all
}

// firstWords is a text as a list shows it: its first line with something on it.
func firstWords(s string) string {
	s = strings.TrimSpace(CleanBlock(s))
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s
}

// called is the name under which verbs are typed.
func (c *Call) called() string {
	if c.under == H2A {
		return "h2a"
	}
	return "tutti"
}

// itemJSON is a message for programs, with the whole envelope.
func itemJSON(item *mail.Item) []byte {
	e := item.Envelope
	var o canonjson.Object
	o.Str("id", e.ID)
	o.Str("from", string(e.Actor.Instance))
	o.Str("role", e.Actor.Role)
	o.Str("verdict", item.Verdict.Word.String())
	o.Opt("verdictDetail", item.Verdict.Detail)
	o.Bool("roleNotRegistered", item.Verdict.RoleNotRegistered)
	o.Str("provenance", "peer")
	messageJSON(&o, item.Message)
	o.Raw("envelope", e.Raw)
	return o.Bytes()
}

// messageJSON adds what the store knows of a message.
func messageJSON(o *canonjson.Object, m *mailbox.Message) {
	o.Str("receivedAt", envelope.Stamp(m.Stored))
	if m.Channel {
		o.Bool("channel", true)
	}
	if m.Archived {
		o.Bool("archived", true)
	}
}

// sayUnfit names the files of a mailbox that are no messages. They hide nothing else, and are left where they are.
func (c *Call) sayUnfit(bad []error) {
	const most = 5
	for n, err := range bad {
		if n == most {
			c.warn("and %d more; \"tutti store check\" lists them", len(bad)-most)
			return
		}
		c.warn("not shown: %s", Clean(err.Error()))
	}
}
