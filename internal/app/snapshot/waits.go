package snapshot

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/sessions/observe"
)

// A Wait is one thing that waits for the user, with the command to paste.
type Wait struct {
	Text    string // with how long ago it began
	Command string
	Of      address.Instance // the agent that it is about; "" where that is none
	Actions []todo.Action
	Item    *todo.Item // nil: it is mail
}

// Waits are all things that wait: first what holds an agent up, then your own mail, then mail of agents that nothing wakes.
func (v *View) Waits() (all []Wait) {
	for i := range v.Waiting {
		w := Wait{Text: v.text(&v.Waiting[i]), Command: v.Waiting[i].Command, Actions: v.Waiting[i].Actions, Item: &v.Waiting[i]}
		if from := v.Waiting[i].From; from != "" {
			w.Of = address.Instance(from).Canonical()
		}
		all = append(all, w)
	}
	if n := v.Unread - v.announced(); n > 0 {
		command, as := "tutti receive", []string(nil)
		if who := v.Of; who != "" {
			command, as = command+" --as "+app.QuoteArg(who), []string{"--as", who}
		}
		all = append(all, Wait{Text: "you have " + unreadText(n, v.More), Command: command, Actions: []todo.Action{
			{ID: "show", Label: "Read it", Args: append([]string{"receive"}, as...)},
			{ID: "ack", Label: "Acknowledge what was shown", Args: append([]string{"ack", "--all"}, as...)},
		}})
	}
	for _, m := range v.unseen() {
		text := v.Called(m.Instance) + " has " + unreadText(m.Unread, m.More) + ", "
		if m.Live {
			text += "cannot be woken"
		} else {
			text += "not live"
		}
		command, action := v.unseenCommand(&m)
		all = append(all, Wait{Text: text, Command: command, Of: m.Instance, Actions: []todo.Action{action}})
	}
	return append(all, v.awayWaits()...)
}

// announced counts the unread messages that announce a question which is in the list itself.
func (v *View) announced() (n int) {
	for _, id := range v.Asked {
		if slices.ContainsFunc(v.Waiting, func(i todo.Item) bool { return i.Kind == todo.Escalation && i.ID == id }) {
			n++
		}
	}
	return n
}

// unseen are the agents of this user, other than you, that have unread mail and that are not live or cannot be woken.
func (v *View) unseen() (all []unseen) {
	for i := range v.Buses {
		b := &v.Buses[i]
		for _, m := range b.unseen {
			you := b.own && v.You != nil && m.Instance == v.You.Instance.Canonical()
			if !you && (v.Here == "" || app.Below(m.folder, v.Here)) {
				all = append(all, m)
			}
		}
	}
	return all
}

// unseenCommand is what has an agent read its mail, where its session runs here, else what shows that mail.
func (v *View) unseenCommand(m *unseen) (string, todo.Action) {
	for i := range v.Sessions {
		l := &v.Sessions[i]
		if _, agent := driver.Agent(l.Row.Kind()); agent && l.sight.State == observe.Alive && l.Row.Instance != "" &&
			address.Instance(l.Row.Instance).Canonical() == m.Instance {
			return "tutti session attach " + app.QuoteArg(l.Row.Name) + ` # and type: read your mail`, l.attach("Attach, and type: read your mail")
		}
	}
	command, args := "tutti inbox --as "+app.QuoteArg(m.short), []string{"inbox", "--as", m.short}
	if !m.own {
		command, args = command+" --root "+PathArg(v.App, m.Bus), append(args, "--root", m.Bus)
	}
	return command, todo.Shows(args...)[0]
}

// PathArg writes a path so that it can be pasted into a shell, the home folder as "~".
func PathArg(a *app.App, path string) string {
	if rest, ok := strings.CutPrefix(a.Shown(path), "~/"); ok {
		return "~/" + app.QuoteArg(rest)
	}
	return app.QuoteArg(path)
}

// Topic is the text of what waits without the time, which a screen renews itself.
func (v *View) Topic(i *todo.Item) string {
	timeless := *i
	timeless.At = time.Time{}
	return v.text(&timeless)
}

// text is one thing that waits, in words.
func (v *View) text(i *todo.Item) string {
	text := i.About
	switch i.Kind {
	case todo.Permission, todo.Comms, todo.Complete:
	case todo.Job:
		text = "job " + i.ID + " " + text
	case todo.Blockage:
		text = v.Called(address.Instance(i.From)) + " is blocked: " + text
	case todo.Held:
		text = "mail from " + v.Called(address.Instance(i.From)) + " is held back: " + text
	case todo.Negotiation:
		text = "negotiation " + i.ID + ": " + text
	default:
		if i.From != "" {
			text = v.Called(address.Instance(i.From)) + " asks: " + text
		}
	}
	if !i.At.IsZero() {
		text += " (" + termsafe.Ago(max(0, time.Since(i.At))) + ")"
	}
	return text
}

// unreadText is a count of unread messages, of which there may be more.
func unreadText(n int, more bool) string {
	if more {
		return strconv.Itoa(n) + " or more unread messages"
	}
	return termsafe.Plural(n, "unread message")
}
