package status

import (
	"strconv"

	"tutti/internal/app/snapshot"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// noLetters tells whether there is nothing to be said: who has no mailbox and stands in no project knows nothing of such mail.
func noLetters(v *snapshot.Letters) bool {
	return v == nil || v.Err == nil && v.Here == nil && v.Boxes == 0 && v.Failed == 0
}

// notable tells whether something waits, was not delivered, or cannot be looked at.
func notable(v *snapshot.Letters) bool {
	return v != nil && (v.Err != nil || v.Waiting > 0 || v.Failed > 0 || v.Trouble > 0)
}

// sayLetters prints a line for the project of this folder, and one for all together.
func sayLetters(c *kit.Call, v *snapshot.Letters) {
	if noLetters(v) {
		return
	}
	head := c.Paint(kit.Bold, "comms") + " "
	if v.Err != nil {
		c.Prose(head, 6, "cannot be looked at: "+kit.Clean(v.Err.Error()))
		return
	}
	if v.Here != nil {
		c.Prose(head, 6, kit.Clean(v.Here.Name)+": "+hereText(v))
		head = "      "
	}
	if v.Boxes == 0 && v.Failed == 0 {
		return
	}
	boxes := strconv.Itoa(v.Boxes) + " mailboxes"
	if v.Boxes == 1 {
		boxes = "1 mailbox"
	}
	text := "all projects: nothing waits in " + boxes
	if v.Waiting > 0 {
		text = "all projects: " + strconv.Itoa(v.Waiting) + " waiting in " + strconv.Itoa(v.Holding) + " of " + boxes
	}
	if v.Trouble > 0 {
		text += "; " + strconv.Itoa(v.Trouble) + " cannot be looked at"
	}
	if v.Failed > 0 {
		text += "; " + kit.Plural(v.Failed, "message") + " not delivered"
	}
	c.Prose(head, 6, text)
}

// hereText is what waits for the project of this folder.
func hereText(v *snapshot.Letters) string {
	p := v.Box
	switch {
	case p == nil:
		return "no mail yet"
	case p.Err != nil:
		return "the mailbox cannot be looked at: " + kit.Clean(p.Err.Error())
	case p.Pending == 0:
		return "nothing waits" + openText(v)
	}
	text := strconv.Itoa(p.Pending) + " waiting"
	if m := p.Latest; m != nil && m.Unreadable {
		text += ", the latest one cannot be read (" + kit.Ago(m.Age) + ")"
	} else if m != nil {
		text += ", the latest a " + kit.Clean(string(m.Type)) + " from " + kit.Clean(m.Sender) + " (" + kit.Ago(m.Age) + ")"
	}
	return text + openText(v)
}

// openText is how the conversation stands in which something happened last, of those that are open.
func openText(v *snapshot.Letters) string {
	for i := range v.Box.Conversations {
		if t := &v.Box.Conversations[i]; t.Open {
			text := "; " + kit.Clean(protocol.StateLine(t.ID, &t.State))
			if n := openCount(v) - 1; n > 0 {
				text += ", and " + strconv.Itoa(n) + " more open"
			}
			return text
		}
	}
	return ""
}

func openCount(v *snapshot.Letters) (n int) {
	for i := range v.Box.Conversations {
		if v.Box.Conversations[i].Open {
			n++
		}
	}
	return n
}

// letterHints adds what to type.
func letterHints(v *snapshot.Letters, hints []string) []string {
	if v == nil || v.Err != nil {
		return hints
	}
	if v.Waiting > 0 {
		hints = append(hints, `"tutti comms status --conversations" shows the mail between projects`)
	}
	if v.Failed > 0 {
		hints = append(hints, `"tutti comms retry" lists what was not delivered`)
	}
	return hints
}
