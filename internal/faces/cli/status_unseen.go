package cli

import (
	"context"
	"slices"
	"strconv"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/store"
)

// An agentMail is unread mail of an agent of this user that nothing wakes.
type agentMail struct {
	Instance address.Instance `json:"instance"`
	Unread   int              `json:"unread"`
	Live     bool             `json:"live"`
}

// unseen are the agents of this user, other than the caller, that have unread mail and that are not live or cannot be woken. A
// mailbox that cannot be read hides no other.
func unseen(ctx context.Context, w *app.World, v *statusView) (all []agentMail) {
	for owner, err := range w.Store.Owners(ctx, store.Inbox) {
		if err != nil {
			continue
		}
		who := address.Instance(address.SegmentToAddress(owner)).Canonical()
		if who.Mailbox() != owner || who.Host() == identity.Human || v.you != nil && who == v.you.Instance.Canonical() || !mine(ctx, w, who) {
			continue
		}
		found, err := w.Book.Resolve(ctx, string(who), time.Now())
		if err != nil {
			continue
		}
		if found.Live > 0 && driver.Wakeable(who.Host()) {
			continue
		}
		mail, _, err := w.Mail.List(ctx, who, mailbox.Query{Unread: true, Brief: true})
		if err == nil && len(mail) > 0 {
			all = append(all, agentMail{Instance: who, Unread: len(mail), Live: found.Live > 0})
		}
	}
	return all
}

// mine tells whether the keys of an agent are here; of a name without an id, those of any agent that has it.
func mine(ctx context.Context, w *app.World, who address.Instance) bool {
	if who.Perennial() {
		return w.Ring.Has(who)
	}
	all, err := w.Registry.Channel(ctx, who.Channel())
	return err == nil && slices.ContainsFunc(all, w.Ring.Has)
}

func (c *Call) sayUnseen(v *statusView) {
	for _, m := range v.unseen {
		why := "not live"
		if m.Live {
			why = "cannot be woken"
		}
		c.prose("       ", 7, Clean(string(m.Instance))+" has "+plural(m.Unread, "unread message")+", "+why)
	}
}

// answer is the first line of the screen: what goes on, in one sentence.
func (v *statusView) answer() string {
	live := len(v.agents)
	for i := range v.sessions {
		if l := &v.sessions[i]; !l.live && l.sight.State == lifecycle.Alive {
			live++
		}
	}
	text := "No agents live"
	if live > 0 {
		text = plural(live, "agent") + " live"
	}
	things := len(v.waiting) + len(v.unseen)
	if v.unread > 0 {
		things++
	}
	switch things {
	case 0:
		text += ", nothing waits for you."
	case 1:
		text += ", 1 thing waits for you."
	default:
		text += ", " + strconv.Itoa(things) + " things wait for you."
	}
	if v.halted.Halted {
		return "Halted. " + text
	}
	return text
}
