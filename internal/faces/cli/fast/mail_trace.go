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
	"tutti/internal/core/render"
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

// A traceView is what became of a message, for programs.
type traceView struct {
	ID    string           `json:"id"`
	From  address.Instance `json:"from"`
	To    address.Instance `json:"to"`
	Trace []markView       `json:"trace"` // the steps on record, in their order
}

// A markView is one step of a message.
type markView struct {
	Step    mailbox.Step `json:"step"` // stored, pushed, failed, offered, shown or taken
	At      string       `json:"at"`
	By      string       `json:"by"`
	Session string       `json:"session,omitempty"` // its connection
	Result  string       `json:"result,omitempty"`  // how its reader was notified, or the outcome
}

func viewMark(k mailbox.Mark) markView {
	return markView{k.Step, envelope.Stamp(k.At), k.By, k.Session, means(&k)}
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
			if err := out.Add(render.JSON(traceView{m.ID, m.Envelope.Actor.Instance, m.Envelope.Target, render.Each(marks, viewMark)})); err != nil {
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
