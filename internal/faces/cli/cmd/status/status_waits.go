package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
)

// A waitLine is one thing that waits for the user, with the command to paste.
type waitLine struct {
	text, command string
	of            address.Instance // the agent that it is about; "" where that is none
	actions       []todo.Action
}

// waits are all things that wait: first what holds an agent up, then your own mail, then mail of agents that nothing wakes.
func waits(c *kit.Call, opt *statusOptions, v *statusView) (all []waitLine) {
	for i := range v.waiting {
		w := waitLine{text: v.waitText(&v.waiting[i]), command: v.waiting[i].Command, actions: v.waiting[i].Actions}
		if from := v.waiting[i].From; from != "" {
			w.of = address.Instance(from).Canonical()
		}
		all = append(all, w)
	}
	if n := v.unread - v.announced(); n > 0 {
		command, as := "tutti receive", []string(nil)
		if who := opt.Instance; who != "" {
			command, as = command+" --as "+app.QuoteArg(who), []string{"--as", who}
		}
		all = append(all, waitLine{text: "you have " + unreadText(n, v.more), command: command, actions: []todo.Action{
			{ID: "show", Label: "Read it", Args: append([]string{"receive"}, as...)},
			{ID: "ack", Label: "Acknowledge what was shown", Args: append([]string{"ack", "--all"}, as...)},
		}})
	}
	for _, m := range v.unseen() {
		text := v.called(m.Instance) + " has " + unreadText(m.Unread, m.More) + ", "
		if m.Live {
			text += "cannot be woken"
		} else {
			text += "not live"
		}
		command, action := unseenCommand(c, v, &m)
		all = append(all, waitLine{text, command, m.Instance, []todo.Action{action}})
	}
	return append(all, v.awayWaits()...)
}

// announced counts the unread messages that announce a question which is in the list itself.
func (v *statusView) announced() (n int) {
	for _, id := range v.asked {
		if slices.ContainsFunc(v.waiting, func(i todo.Item) bool { return i.Kind == todo.Escalation && i.ID == id }) {
			n++
		}
	}
	return n
}

// unseen are the agents of this user, other than you, that have unread mail and that are not live or cannot be woken.
func (v *statusView) unseen() (all []agentMail) {
	for i := range v.buses {
		b := &v.buses[i]
		for _, m := range b.unseen {
			you := b.own && v.you != nil && m.Instance == v.you.Instance.Canonical()
			if !you && (v.here == "" || kit.Below(m.folder, v.here)) {
				all = append(all, m)
			}
		}
	}
	return all
}

// unseenCommand is what has an agent read its mail, where its session runs here, else what shows that mail.
func unseenCommand(c *kit.Call, v *statusView, m *agentMail) (string, todo.Action) {
	for i := range v.sessions {
		l := &v.sessions[i]
		if _, agent := driver.Agent(l.row.Kind()); agent && l.sight.State == observe.Alive && l.row.Instance != "" &&
			address.Instance(l.row.Instance).Canonical() == m.Instance {
			return "tutti session attach " + app.QuoteArg(l.row.Name) + ` # and type: read your mail`, l.attach("Attach, and type: read your mail")
		}
	}
	command, args := "tutti inbox --as "+app.QuoteArg(m.short), []string{"inbox", "--as", m.short}
	if !m.own {
		command, args = command+" --root "+pathArg(c, m.Bus), append(args, "--root", m.Bus)
	}
	return command, todo.Shows(args...)[0]
}

// pathArg writes a path so that it can be pasted into a shell, the home folder as "~".
func pathArg(c *kit.Call, path string) string {
	if rest, ok := strings.CutPrefix(c.App.Shown(path), "~/"); ok {
		return "~/" + app.QuoteArg(rest)
	}
	return app.QuoteArg(path)
}

// waitText is one thing that waits, in words.
func (v *statusView) waitText(i *todo.Item) string {
	text := i.About
	switch i.Kind {
	case todo.Permission, todo.Comms, todo.Complete:
	case todo.Job:
		text = "job " + i.ID + " " + text
	case todo.Blockage:
		text = v.called(address.Instance(i.From)) + " is blocked: " + text
	case todo.Held:
		text = "mail from " + v.called(address.Instance(i.From)) + " is held back: " + text
	case todo.Negotiation:
		text = "negotiation " + i.ID + ": " + text
	default:
		if i.From != "" {
			text = v.called(address.Instance(i.From)) + " asks: " + text
		}
	}
	if !i.At.IsZero() {
		text += " (" + kit.Ago(max(0, time.Since(i.At))) + ")"
	}
	return text
}

const (
	waitingShown = 10              // things that wait, at most
	waitingWide  = 3 * 60          // columns of one of them, at most
	sketchWide   = 80              // columns of the screen where no terminal sets the limit
	waitsHead    = "Waits for you" // heading
)

// sayWaits prints what waits, each with its command: behind it where both fit in a line, else below it.
func sayWaits(c *kit.Call, v *statusView, all []waitLine) {
	if len(all) == 0 && v.blind == nil {
		return
	}
	c.Line("")
	c.Line(c.Paint(kit.Yellow, waitsHead))
	if v.blind != nil {
		c.Prose("  ", 2, "not known, because it cannot be read: "+kit.Clean(v.blind.Error()))
	}
	more := len(all) - waitingShown
	if more > 0 && !v.long {
		all = all[:waitingShown]
	}
	wide, room := 0, cmp.Or(c.Columns, sketchWide)
	for _, w := range all {
		if n := kit.Width(kit.Clean(w.text)); n+kit.Width(kit.Clean(w.command))+9 <= room {
			wide = max(wide, n)
		}
	}
	for n, w := range all {
		head := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(all))), n+1)
		text, command := kit.Truncate(kit.Clean(w.text), waitingWide), kit.Clean(w.command)
		if pad := wide - kit.Width(text); pad >= 0 && len(head)+wide+3+kit.Width(command) <= room {
			c.Line(head + text + strings.Repeat(" ", pad+3) + command)
			continue
		}
		c.Prose(head, len(head), text)
		c.Line(strings.Repeat(" ", len(head)) + command)
	}
	if more > 0 && !v.long {
		c.Line("      and " + strconv.Itoa(more) + ` more: "tutti status --long" shows all`)
	}
}
