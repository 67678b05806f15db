package fast

import (
	"context"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// maxShownBody is how much of one body is shown at once, in bytes: what a model is given beside its work should not crowd
// that out.
const maxShownBody = 12000

// own stands above the body of a message of one's own; [mail.Item.Source] above every other.
const own = "sent from here:"

// Messages prints messages one after the other: the envelopes as JSON, or as people read them. ends names the sender of each, and its
// recipient where that is not plain.
func Messages(ctx context.Context, c *kit.Call, d *kit.Account, all []*mailbox.Message, bad []error, none string, ends Ends) error {
	sayUnfit(c, bad)
	if c.JSON {
		out := c.Array()
		for _, m := range all {
			if err := out.Add(m.Envelope.Raw); err != nil {
				return err
			}
		}
		out.End()
		return nil
	}
	if len(all) == 0 {
		c.Line(none)
	}
	for n, m := range all {
		item, err := d.Judged(ctx, m)
		if err != nil {
			return err
		}
		if n > 0 {
			c.Line("")
		}
		Show(c, &item, d.Now, maxShownBody, ends)
		if err := c.FlushLong(); err != nil {
			return err
		}
	}
	return nil
}

// Show prints one message. Each line of the body stands behind a bar, so that no body can look like the lines around it.
func Show(c *kit.Call, item *mail.Item, now time.Time, limit int, ends Ends) {
	e := item.Envelope
	c.Line(c.Paint(kit.Bold, ends(e)) + " — " + c.Word(item.Verdict) + " — " +
		kit.Ago(now.Sub(time.UnixMilli(item.Order))))
	c.Line("id " + kit.Clean(e.ID) + facts(e))
	for _, note := range notes(item) {
		if note == item.Verdict.Detail && item.Verdict.Word == trust.NewKey {
			c.Line("- " + kit.Clean(note)) // a first contact is not a warning
			continue
		}
		c.Line(c.Paint(kit.Yellow, "! "+note))
	}
	switch {
	case item.Key.Kind == store.Outbox:
		c.Line(own)
	default:
		c.Line(item.Source() + ":")
	}
	text := e.Text()
	cut := termsafe.Head(text, limit)
	for line := range strings.SplitSeq(strings.TrimRight(kit.CleanBlock(cut), "\n"), "\n") {
		quoted(c, line)
	}
	if len(cut) < len(text) {
		c.Printf("cut after %d of %d bytes; the whole: %s inbox read %s\n", len(cut), len(text), called(c), app.QuoteArg(kit.Clean(e.ID)))
	}
}

// quoted prints one line of a body behind a bar. A terminal would go on at its left edge with a line that is too long, where
// a body could then write what looks like ours, so it is broken here.
func quoted(c *kit.Call, line string) {
	for c.Columns > minQuoted && kit.Width(line) > c.Columns-2 {
		part := strings.TrimSuffix(kit.Truncate(line, c.Columns-1), "…") // one column less than that, and whole characters
		if part == "" {
			break
		}
		c.Line("| " + part)
		line = line[len(part):]
	}
	c.Line("| " + line)
}

// minQuoted is the narrowest terminal on which lines are broken: on one that is narrower nothing is legible anyway.
const minQuoted = 8

// facts are what is known of a message beside its sender, for one line.
func facts(e *envelope.Envelope) string {
	s := ""
	for _, f := range [][2]string{{"thread", e.ThreadID}, {"kind", e.Kind()}, {"answers", e.ReplyTo}} {
		if f[1] != "" {
			s += " · " + f[0] + " " + kit.Clean(f[1])
		}
	}
	return s
}

// notes are what a reader should know before reading. None holds a text of the sender but the role, which is one of six.
func notes(item *mail.Item) []string {
	var all []string
	if remark := item.Verdict.Remark(); remark != "" {
		all = append(all, kit.Clean(remark))
	}
	if item.Verdict.RoleNotRegistered {
		all = append(all, "role not registered: it claims to be "+kit.Clean(item.Envelope.Actor.Role))
	}
	if unattended := mail.Unattended(item.Envelope); unattended != "" {
		all = append(all, unattended)
	}
	if item.Channel {
		all = append(all, "sent to the label, not to you alone: you read it because no owner of the label is live")
	}
	return all
}

// FirstWords is a text as a list shows it: its first line with something on it.
func FirstWords(s string) string {
	s = strings.TrimSpace(kit.CleanBlock(s))
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s
}

// called is the name under which verbs are typed.
func called(c *kit.Call) string {
	if c.Under == kit.H2A {
		return "h2a"
	}
	return "tutti"
}

// A storedView is what the store knows of a message.
type storedView struct {
	ReceivedAt string `json:"receivedAt"`         // when it was stored
	Channel    bool   `json:"channel,omitempty"`  // it was sent to the label, not to one agent
	Archived   bool   `json:"archived,omitempty"` // it was acknowledged
}

func viewStored(m *mailbox.Message) storedView {
	return storedView{envelope.Stamp(m.Stored), m.Channel, m.Archived}
}

// sayUnfit names the files of a mailbox that are not messages. They hide nothing else, and are left where they are.
func sayUnfit(c *kit.Call, bad []error) {
	const most = 5
	for n, err := range bad {
		if n == most {
			c.Warn("and %d more; \"tutti store check\" lists them", len(bad)-most)
			return
		}
		c.Warn("not shown: %s", kit.Clean(err.Error()))
	}
}
