package snapshot

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// An unseen is unread mail of an agent of this user that nothing wakes.
type unseen struct {
	overview.UnseenMail

	own    bool   // it is on the bus of this folder
	short  string // an address that is enough for verbs on that bus
	folder string // in which it was registered; "" where that is not known
}

// A Bus is one bus as it was found.
type Bus struct {
	path    string
	own     bool          // the bus of this folder
	asleep  []string      // agents that are registered and not live
	agents  []members.Row // live, one row for each connection, the latest first
	unread  map[address.Instance]int
	more    map[address.Instance]bool // of whom not all was counted
	stopped map[address.Instance]bool // by a halt that is over, and not told to go on since
	unseen  []unseen
	facts   busFacts
}

// lookAtBuses reads the agents and the unread mail of all buses of this machine.
func lookAtBuses(ctx context.Context, a *app.App, v *View) {
	now := v.At
	var mailboxes []overview.BusProblem
	buses := a.Worlds(func(w *app.World) error {
		b := Bus{path: w.Root.Path, own: app.SameFolder(w.Root.Path, v.Root.Path), unread: map[address.Instance]int{}, more: map[address.Instance]bool{}, stopped: map[address.Instance]bool{}}
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
		if err := b.findStopped(ctx, w); err != nil {
			return err
		}
		if v.facts {
			var missing []error
			b.facts, missing = factsOf(ctx, w, b.agents, now)
			for _, err := range missing {
				mailboxes = append(mailboxes, overview.BusProblem{Bus: b.path, Error: err.Error()})
			}
		}
		v.Buses = append(v.Buses, b)
		return nil
	})
	for _, b := range v.Buses {
		if app.OnServer(b.path) {
			continue
		}
		for _, u := range filestore.Misplaced(b.path) {
			buses = append(buses, overview.BusProblem{Bus: b.path, Error: u.Where + " " + u.Why})
		}
	}
	v.Problems = slices.Concat(buses, mailboxes)
}

// live returns the row of a live agent, of a channel the first one that answers to it, and nil for none.
func (b *Bus) live(who address.Instance) *members.Row {
	for i := range b.agents {
		if one := b.agents[i].Instance; one.Canonical() == who || !who.Perennial() && address.Instance(one.Channel()).Canonical() == who {
			return &b.agents[i]
		}
	}
	return nil
}

// count counts the unread mail of each live agent and of each agent whose key is here.
func (b *Bus) count(ctx context.Context, w *app.World) (problems []overview.BusProblem) {
	for owner, err := range w.Store.Owners(ctx, store.Inbox) {
		if err != nil {
			continue // "tutti doctor" names a folder that is not a mailbox
		}
		who := address.Instance(address.SegmentToAddress(owner)).Canonical()
		if who.Mailbox() != owner || who.Host() == identity.Human {
			continue
		}
		if err := b.countOne(ctx, w, who); err != nil {
			problems = append(problems, overview.BusProblem{Bus: b.path, Agent: who, Error: err.Error()})
		}
	}
	return problems
}

// countOne counts the unread mail of an agent, if it is live or its key is here.
func (b *Bus) countOne(ctx context.Context, w *app.World, who address.Instance) error {
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
		b.unseen = append(b.unseen, unseen{
			UnseenMail: overview.UnseenMail{Instance: who, Unread: n, More: more, Live: live != nil, Bus: b.path},
			own:        b.own, short: shortest(ctx, w, who), folder: folderOf(ctx, w, who),
		})
	}
	return nil
}

// findStopped finds the live agents that a halt which is over still stops.
func (b *Bus) findStopped(ctx context.Context, w *app.World) error {
	live := map[address.Instance][]*presence.Session{}
	for i := range b.agents {
		if r := &b.agents[i]; r.Session != nil && r.Session.MirroredAt == "" && r.Instance.Canonical().Host() != identity.Human {
			live[r.Instance.Canonical()] = append(live[r.Instance.Canonical()], r.Session)
		}
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	for agent, sessions := range live {
		stopped, err := office.Stopped(ctx, agent, sessions)
		b.stopped[agent] = err == nil && stopped
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

// Asleep are the agents on all buses that are not live, in order. Of one folder that is not known.
func (v *View) Asleep() (all []string) {
	for i := range v.Buses {
		if v.Here == "" {
			all = append(all, v.Buses[i].asleep...)
		}
	}
	slices.Sort(all)
	return all
}
