package status

import (
	"context"
	"strconv"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// A letterView is what the one screen shows of the mail between projects.
type letterView struct {
	here     *exchange.Project // the project of the working directory; nil: none
	box      *overview.Project // its mailbox; nil: there is none
	boxes    int
	waiting  int // messages, in all mailboxes
	holding  int // mailboxes in which some wait
	failed   int // messages that were not delivered
	trouble  int // mailboxes that could not be looked at
	projects []*overview.Project
	err      error
}

// lettersNear begins to look at the mailboxes of all projects and returns what waits for the answer.
func lettersNear(ctx context.Context, c *kit.Call) func() *letterView {
	v := &letterView{}
	o, _, err := c.App.CommsService()
	if err != nil {
		v.err = err
		return func() *letterView { return v }
	}
	var p exchange.Project
	if dir := c.App.WorkDir(); dir != "" {
		if at, ok := o.ProjectAt(dir); ok {
			p, v.here = at, &at
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.look(ctx, c.App.OverviewOptions(o, p))
	}()
	return func() *letterView {
		<-done
		return v
	}
}

func (v *letterView) look(ctx context.Context, o overview.Options) {
	s, err := overview.Look(ctx, o)
	if err != nil {
		v.err = err
		return
	}
	v.boxes, v.failed, v.projects = len(s.Projects), s.Failed, s.Projects
	for _, p := range s.Projects {
		v.waiting += p.Pending
		if p.Pending > 0 {
			v.holding++
		}
		if p.Err != nil {
			v.trouble++
		}
		if v.here != nil && p.Path == v.here.Path {
			v.box = p
		}
	}
}

// none tells whether there is nothing to be said: who has no mailbox and stands in no project knows nothing of such mail.
func (v *letterView) none() bool {
	return v == nil || v.err == nil && v.here == nil && v.boxes == 0 && v.failed == 0
}

// notable tells whether something waits, was not delivered, or cannot be looked at.
func (v *letterView) notable() bool {
	return v != nil && (v.err != nil || v.waiting > 0 || v.failed > 0 || v.trouble > 0)
}

// sayLetters prints a line for the project of this folder, and one for all together.
func sayLetters(c *kit.Call, v *letterView) {
	if v.none() {
		return
	}
	head := c.Paint(kit.Bold, "comms") + " "
	if v.err != nil {
		c.Prose(head, 6, "cannot be looked at: "+kit.Clean(v.err.Error()))
		return
	}
	if v.here != nil {
		c.Prose(head, 6, kit.Clean(v.here.Name)+": "+v.hereText())
		head = "      "
	}
	if v.boxes == 0 && v.failed == 0 {
		return
	}
	boxes := strconv.Itoa(v.boxes) + " mailboxes"
	if v.boxes == 1 {
		boxes = "1 mailbox"
	}
	text := "all projects: nothing waits in " + boxes
	if v.waiting > 0 {
		text = "all projects: " + strconv.Itoa(v.waiting) + " waiting in " + strconv.Itoa(v.holding) + " of " + boxes
	}
	if v.trouble > 0 {
		text += "; " + strconv.Itoa(v.trouble) + " cannot be looked at"
	}
	if v.failed > 0 {
		text += "; " + kit.Plural(v.failed, "message") + " not delivered"
	}
	c.Prose(head, 6, text)
}

// hereText is what waits for the project of this folder.
func (v *letterView) hereText() string {
	p := v.box
	switch {
	case p == nil:
		return "no mail yet"
	case p.Err != nil:
		return "the mailbox cannot be looked at: " + kit.Clean(p.Err.Error())
	case p.Pending == 0:
		return "nothing waits" + v.openText()
	}
	text := strconv.Itoa(p.Pending) + " waiting"
	if m := p.Latest; m != nil && m.Unreadable {
		text += ", the latest one cannot be read (" + kit.Ago(m.Age) + ")"
	} else if m != nil {
		text += ", the latest a " + kit.Clean(string(m.Type)) + " from " + kit.Clean(m.Sender) + " (" + kit.Ago(m.Age) + ")"
	}
	return text + v.openText()
}

// openText is how the conversation stands in which something happened last, of those that are open.
func (v *letterView) openText() string {
	for i := range v.box.Conversations {
		if t := &v.box.Conversations[i]; t.Open {
			text := "; " + kit.Clean(protocol.StateLine(t.ID, &t.State))
			if n := v.open() - 1; n > 0 {
				text += ", and " + strconv.Itoa(n) + " more open"
			}
			return text
		}
	}
	return ""
}

func (v *letterView) open() (n int) {
	for i := range v.box.Conversations {
		if v.box.Conversations[i].Open {
			n++
		}
	}
	return n
}

// hintsTo adds what to type.
func (v *letterView) hintsTo(hints []string) []string {
	if v == nil || v.err != nil {
		return hints
	}
	if v.waiting > 0 {
		hints = append(hints, `"tutti comms status --conversations" shows the mail between projects`)
	}
	if v.failed > 0 {
		hints = append(hints, `"tutti comms retry" lists what was not delivered`)
	}
	return hints
}
