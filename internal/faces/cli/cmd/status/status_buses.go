package status

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// An agentMail is unread mail of an agent of this user that nothing wakes.
type agentMail struct {
	Instance address.Instance `json:"instance"`
	Unread   int              `json:"unread"`
	More     bool             `json:"unreadMore,omitempty"` // there may be more than that
	Live     bool             `json:"live"`
	Bus      string           `json:"bus"`

	own    bool   // it is on the bus of this folder
	short  string // an address that is enough for verbs on that bus
	folder string // in which it was registered; "" where that is not known
}

// A busView is one bus as status sees it.
type busView struct {
	path   string
	own    bool          // the bus of this folder
	asleep []string      // agents that are registered and not live
	agents []members.Row // live, one row for each connection, the latest first
	unread map[address.Instance]int
	more   map[address.Instance]bool // of whom not all was counted
	unseen []agentMail
	facts  busFacts
}

// lookAtBuses reads the agents and the unread mail of all buses of this machine.
func lookAtBuses(ctx context.Context, c *kit.Call, v *statusView) {
	now := time.Now()
	var mailboxes []kit.BusProblem
	buses := c.Worlds(func(w *app.World) error {
		b := busView{path: w.Root.Path, own: app.SameFolder(w.Root.Path, v.root.Path), unread: map[address.Instance]int{}, more: map[address.Instance]bool{}}
		var err error
		known, err := w.Book.Discover(ctx, members.Filter{Registered: true}, now)
		b.agents = slices.DeleteFunc(known, func(r members.Row) bool {
			if r.Session == nil && r.Instance.Canonical().Host() != identity.Human {
				b.asleep = append(b.asleep, address.Shown(r.Instance.Channel()))
			}
			return r.Session == nil
		})
		if err != nil {
			return err
		}
		mailboxes = append(mailboxes, b.count(ctx, w)...)
		if v.facts {
			var missing []error
			b.facts, missing = factsOf(ctx, w, now)
			for _, err := range missing {
				mailboxes = append(mailboxes, kit.BusProblem{Bus: b.path, Error: err.Error()})
			}
		}
		v.buses = append(v.buses, b)
		return nil
	})
	for _, b := range v.buses {
		if app.OnServer(b.path) {
			continue
		}
		for _, u := range filestore.Misplaced(b.path) {
			buses = append(buses, kit.BusProblem{Bus: b.path, Error: u.Where + " " + u.Why})
		}
	}
	v.problems = slices.Concat(buses, mailboxes)
}

// live returns the row of a live agent, of a channel the first one that answers to it, and nil for none.
func (b *busView) live(who address.Instance) *members.Row {
	for i := range b.agents {
		if one := b.agents[i].Instance; one.Canonical() == who || !who.Perennial() && address.Instance(one.Channel()).Canonical() == who {
			return &b.agents[i]
		}
	}
	return nil
}

// count counts the unread mail of each live agent and of each agent whose key is here.
func (b *busView) count(ctx context.Context, w *app.World) (problems []kit.BusProblem) {
	for owner, err := range w.Store.Owners(ctx, store.Inbox) {
		if err != nil {
			continue // "tutti doctor" names a folder that is not a mailbox
		}
		who := address.Instance(address.SegmentToAddress(owner)).Canonical()
		if who.Mailbox() != owner || who.Host() == identity.Human {
			continue
		}
		if err := b.countOne(ctx, w, who); err != nil {
			problems = append(problems, kit.BusProblem{Bus: b.path, Agent: who, Error: err.Error()})
		}
	}
	return problems
}

// countOne counts the unread mail of an agent, if it is live or its key is here.
func (b *busView) countOne(ctx context.Context, w *app.World, who address.Instance) error {
	if !who.Perennial() {
		owner, err := w.Mail.Owner(ctx, who)
		if err != nil {
			return err
		}
		who = cmp.Or(owner, who)
	}
	live := b.live(who)
	if live != nil {
		who = live.Instance.Canonical() // it reads the mail of its channel
	}
	if _, counted := b.unread[who]; counted {
		return nil
	}
	own, err := mine(ctx, w, who)
	if err != nil || live == nil && !own {
		return err
	}
	n, more, _, err := w.Mail.Unread(ctx, who, maxCounted)
	if err != nil {
		return err
	}
	b.unread[who], b.more[who] = n, more
	if n > 0 && own && (live == nil || !driver.Wakeable(who.Host())) {
		b.unseen = append(b.unseen, agentMail{
			Instance: who, Unread: n, More: more, Live: live != nil, Bus: b.path, own: b.own, short: shortest(ctx, w, who), folder: folderOf(ctx, w, who),
		})
	}
	return nil
}

// mine tells whether the keys of an agent are here; for a channel, those of any agent that has its label.
func mine(ctx context.Context, w *app.World, who address.Instance) (bool, error) {
	if who.Perennial() {
		return w.Ring.Has(who), nil
	}
	all, err := w.Registry.Channel(ctx, who.Channel())
	return slices.ContainsFunc(all, w.Ring.Has), err
}

// shortest is an agent's channel where no other agent of this user has the same one, else its whole address.
func shortest(ctx context.Context, w *app.World, who address.Instance) string {
	all, err := w.Registry.Channel(ctx, who.Channel())
	others := slices.ContainsFunc(all, func(i address.Instance) bool { return i.Canonical() != who && w.Ring.Has(i) })
	if err != nil || who.Perennial() && others {
		return string(who)
	}
	return who.Channel()
}

// folderOf is the folder of an agent as it was registered, "" where that is not known.
func folderOf(ctx context.Context, w *app.World, who address.Instance) string {
	if r, err := w.Registry.ByInstance(ctx, who); err == nil && r.Workspace != nil {
		return r.Workspace.Path
	}
	return ""
}

// folderHere is the folder in which the command was typed, without links, "" when it cannot be told.
func folderHere() string {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return ""
	}
	return dir
}
