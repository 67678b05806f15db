package cli

import (
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
)

// asking are the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *statusView) asking(person func() bool) (all []todo.Item) {
	for i := range v.sessions {
		l := &v.sessions[i]
		if l.asks != "" && person() {
			all = append(all, todo.Item{
				Kind: todo.Permission, ID: l.row.Name, From: l.row.Instance, About: l.row.Name + " asks " + l.asks,
				Command: "tutti session attach " + app.QuoteArg(l.row.Name),
			})
		}
	}
	return all
}

func (v *statusView) waitingJSON() []byte {
	var all list
	for n := range v.waiting {
		all.raw(v.waiting[n].JSON())
	}
	return all.bytes()
}

// waitingShown is how many of them the screen names.
const waitingShown = 10

// sayWaiting prints what waits for who looks, each with what to type. Nothing is said where nothing does.
func (c *Call) sayWaiting(v *statusView) {
	if v.blind != nil {
		c.prose(c.paint(bold, "wait ")+" ", 6, "what waits for you cannot be looked at: "+Clean(v.blind.Error()))
	}
	if len(v.waiting) == 0 {
		return
	}
	things := " things wait on you"
	if len(v.waiting) == 1 {
		things = " thing waits on you"
	}
	c.line(c.paint(bold, "wait ") + " " + strconv.Itoa(len(v.waiting)) + things)
	for n, w := range v.waiting {
		if n == waitingShown {
			c.line("       and " + strconv.Itoa(len(v.waiting)-n) + " more: tutti status --json")
			break
		}
		head := "      " + w.Kind
		if w.Kind != todo.Permission && w.Kind != todo.Blockage {
			head += "  " + Truncate(Clean(w.ID), textShown)
		}
		if w.From != "" {
			head += "  from " + Clean(w.From)
		}
		if !w.At.IsZero() {
			head += "  " + ago(max(0, time.Since(w.At)))
		}
		c.line(head)
		c.prose("        ", 8, Truncate(Clean(w.About), 3*textShown))
		c.line("        → " + Clean(w.Command))
	}
}
