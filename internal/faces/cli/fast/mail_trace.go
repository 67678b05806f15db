package fast

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// arrived adds when a message came that another program has put there, which keeps no record.
func arrived(m *mailbox.Message, marks []mailbox.Mark) []mailbox.Mark {
	is := func(k mailbox.Mark) bool { return k.Step == mailbox.Stored }
	if m.Key.Kind == store.Outbox || m.Stored.IsZero() || slices.ContainsFunc(marks, is) {
		return marks
	}
	return slices.Insert(marks, 0, mailbox.Mark{ID: m.ID, Step: mailbox.Stored, At: m.Stored, Result: "by another program"})
}

// traced returns the agent whose mailbox got the message: for a sent one, its recipient.
func traced(p *mail.Part) address.Instance {
	if p.Key.Kind == store.Outbox && p.Envelope.Target != "" {
		return p.Envelope.Target
	}
	return p.Of
}

// showTrace prints a line for each step. Times are UTC, to the millisecond, as they are on record.
func showTrace(c *kit.Call, m *mailbox.Message, marks []mailbox.Mark) {
	head := c.Paint(kit.Bold, "id "+kit.Clean(m.ID)) + " — "
	ends := "from " + kit.Name(m.Envelope.Actor.Instance) + " to " + kit.Name(m.Envelope.Target)
	if used := kit.Width("id " + kit.Clean(m.ID) + " — "); c.Columns > 0 && used+kit.Width(ends) > c.Columns {
		c.Line(strings.TrimRight(head, " "))
		c.Prose("  ", 2, ends)
	} else {
		c.Line(head + ends)
	}
	if len(marks) == 0 {
		c.Line("  nothing is on record of it")
	}
	for n := range marks {
		showMark(c, &marks[n])
	}
}

// means is how the agent was notified. A push without a word was a notification of the server, which is older than the
// others.
func means(k *mailbox.Mark) string {
	if k.Step == mailbox.Pushed && k.Result == "" {
		return "notification"
	}
	return k.Result
}

func traceObject(m *mailbox.Message, marks []mailbox.Mark) []byte {
	var o canonjson.Object
	o.Str("id", m.ID)
	o.Str("from", string(m.Envelope.Actor.Instance))
	o.Str("to", string(m.Envelope.Target))
	o.Raw("trace", marksJSON(marks))
	return o.Bytes()
}

// showTraces says what became of messages: when each was stored, what was tried to have its reader look, and when the reader was
// offered it, shown it and took it.
func showTraces(ctx context.Context, c *kit.Call, d *kit.Account, found *mail.Conversation) error {
	sayUnfit(c, found.Unfit)
	out := c.Array()
	for n := range found.Parts {
		m := found.Parts[n].Message
		marks, err := d.Mail.Trace(ctx, traced(&found.Parts[n]), m.ID)
		if err != nil {
			return err
		}
		marks = arrived(m, marks)
		if c.JSON {
			if err := out.Add(traceObject(m, marks)); err != nil {
				return err
			}
			continue
		}
		if n > 0 {
			c.Line("")
		}
		showTrace(c, m, marks)
		if err := c.FlushLong(); err != nil {
			return err
		}
	}
	if c.JSON {
		out.End()
	}
	return nil
}

// showMark prints one step.
func showMark(c *kit.Call, k *mailbox.Mark) {
	var rest []string
	if how := means(k); how != "" {
		rest = append(rest, kit.Clean(how))
	}
	if k.By != "" {
		rest = append(rest, "by "+kit.Clean(k.By))
	}
	if k.Session != "" {
		rest = append(rest, "in "+kit.Clean(k.Session))
	}
	head := fmt.Sprintf("  %s  %-7s", envelope.Stamp(k.At), k.Step)
	if len(rest) == 0 {
		c.Line(strings.TrimRight(head, " "))
		return
	}
	c.TableRow([]string{head, strings.Join(rest, "  ")}, []int{len(head)}, true)
}

// marksJSON are the steps for programs.
func marksJSON(marks []mailbox.Mark) []byte {
	steps := []byte{'['}
	for n := range marks {
		k := &marks[n]
		if n > 0 {
			steps = append(steps, ',')
		}
		var s canonjson.Object
		s.Str("step", string(k.Step))
		s.Str("at", envelope.Stamp(k.At))
		s.Str("by", k.By)
		s.Opt("session", k.Session)
		s.Opt("result", means(k))
		steps = append(steps, s.Bytes()...)
	}
	return append(steps, ']')
}
