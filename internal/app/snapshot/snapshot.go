// Package snapshot looks at all agents of this user: on every bus and in every session registry of the inventory of this machine.
//
// It promises:
//
//   - [Take] returns one look, and [View.Snapshot] what of it "tutti status --json" prints. A bus or registry that cannot be read is
//     named and hides no other.
//   - [Follow] calls its caller with a view at once and after each change. While nothing happens nothing wakes up, but for a slow look
//     while a screen is all that tells what an agent does.
//   - Neither marks mail as shown, starts a program other than tmux, or changes anything but the inventory.
//
// What an agent does is decided in sessions/observe, and what waits for the user in attention/todo. Texts are those of others; who
// prints one makes it harmless.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/haltreport"
	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// Options say what is looked at. Only App is needed.
type Options struct {
	App *app.App
	// Here restricts the look to the folder where the user stands.
	Here bool
	// Whole adds what only a full list shows: the newest messages, who conducts here, and what looks after the bus.
	Whole bool
	// Facts adds what records of agent CLIs, git and buses say of each agent.
	Facts bool
	// Instance is the agent whose mail is counted; "": that of the caller.
	Instance string

	// Who says who asks; nil: who speaks where this program runs.
	Who func(ctx context.Context, w *app.World) (*identity.Speaker, error)
	// Actor says who acts on jobs, and whether that is a person; nil: an agent's process.
	Actor func() (by string, person bool)
	// Reached says what a halt reached; nil: that is not known.
	Reached func(ctx context.Context) *haltreport.Report
}

// A View is one look.
type View struct {
	App      *app.App
	Root     *app.Root // of this folder
	Exists   bool      // it has a bus
	NoBus    *app.NoBusError
	Here     string // the folder to which the look is restricted; "" for the whole machine
	At       time.Time
	Halted   halt.State
	Reached  *haltreport.Report // what the halt reached; nil: nothing is halted, or that is not known
	Pauses   []halt.Pause
	Lifts    []halt.Lift // those that the user has not seen
	LiftsEnd int64       // up to which the record of lifts was read
	Rows     []Agent     // of this machine
	Sessions []Session
	Buses    []Bus
	Problems []overview.BusProblem
	Warnings []string // about registries and settings
	Waiting  []todo.Item
	Blind    error // why it is not known what waits
	Letters  *Letters
	Hints    []string
	Of       string // Options.Instance
	// Of the bus of this folder:
	Up        *app.Up // looks after it; nil: nothing does, or that was not asked
	You       *identity.Speaker
	WhoErr    error               // why it is not known who you are
	Folder    string              // in which you work; "" when it is not known
	Agents    []members.Row       // that are live, without you
	Away      []overview.Carriage // messages of this bus to agents on other machines that were not carried yet
	Unread    int
	More      bool     // there is more unread than was counted
	Asked     []string // ids of the questions that unread messages announce
	Newest    []Mail
	Bad       int        // files in your mailbox that are not messages
	Conductor *Conductor // who conducts this folder; nil: that is not a question here

	whole, facts bool
	denied       overview.Denial
}

// Limits.
const (
	newestShown = 5    // unread messages that are named
	maxCounted  = 1000 // messages of a mailbox among which those that are unread are counted
)

// A Mail is one unread message.
type Mail struct {
	ID, From, Text string
	Verdict        trust.Verdict
	At             time.Time
}

// Take looks. An error beside a view is one of the bus of this folder.
func Take(ctx context.Context, o *Options) (*View, error) {
	a := o.App
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	v := &View{App: a, Root: root, At: time.Now(), Halted: halt.Read(), Of: o.Instance, whole: o.Whole, facts: o.Facts}
	if o.Here {
		v.Here = folderHere()
	}
	near, letters := sessionsNear(ctx, a, v), LettersOf(ctx, a)
	if v.Halted.Halted && o.Reached != nil {
		v.Reached = o.Reached(ctx)
	}
	v.readNews(ctx)
	v.denied = overview.Denial{Halted: v.Halted.Halted, Pauses: v.Pauses}
	w, err := a.World(app.Reading)
	if errors.As(err, &v.NoBus) {
		err = nil
	} else if err == nil {
		defer w.Close()
		v.Exists = true
	}
	lookAtBuses(ctx, a, v)
	if v.Exists {
		err = v.own(ctx, o, w)
	} else {
		w = nil
	}
	v.Sessions = near()
	v.tabulate(v.At, v.Here)
	if home, err := a.Home(); err == nil {
		for i := range v.Rows {
			v.Rows[i].report(home)
		}
		v.haltStates()
		if o.Facts {
			v.learn(a, home)
		}
	}
	v.Letters = letters()
	actor := o.Actor
	if actor == nil {
		actor = func() (string, bool) { return "", false }
	}
	actor = sync.OnceValues(actor)
	person := func() bool { _, is := actor(); return is }
	v.Waiting = v.asking(person)
	v.Blind = v.waitingHere(ctx, w, person, actor)
	return v, err
}

// haltStates adds what the halt does to each agent.
func (v *View) haltStates() {
	for i := range v.Rows {
		r := &v.Rows[i]
		if a := v.Reached.Of(r.Program.PID, string(r.Instance)); a != nil && r.Halted {
			r.HaltState = a.HaltState()
		}
	}
}

// own adds what is known of the bus of this folder.
func (v *View) own(ctx context.Context, o *Options, w *app.World) error {
	for i := range v.Buses {
		if v.Buses[i].own {
			v.Agents = slices.Clone(v.Buses[i].agents)
		}
	}
	if err := v.findAway(ctx, w); err != nil {
		return err
	}
	if v.whole || len(v.Away) > 0 {
		v.Up = app.RunningUp(v.App, v.Root.Path)
	}
	if v.whole {
		if err := v.findConductor(ctx, w); err != nil {
			return err
		}
	}
	if o.Who != nil {
		v.You, v.WhoErr = o.Who(ctx, w)
	} else {
		v.You, v.WhoErr = w.Identity.Speak(ctx, v.App.Facts(), identity.Ask{Peek: true}, v.At)
	}
	if v.WhoErr != nil {
		v.You = nil
	}
	if v.You == nil {
		return nil
	}
	me := v.You.Instance.Canonical()
	if v.Conductor != nil {
		v.Conductor.Own = v.Conductor.Instance.Canonical() == me
	}
	v.Agents = slices.DeleteFunc(v.Agents, func(r members.Row) bool {
		if r.Instance.Canonical() != me {
			return false
		}
		v.Folder = cmp.Or(v.Folder, overview.FolderOf(&r))
		return true
	})
	return v.mail(ctx, w)
}

// mail counts what is unread and judges the newest of it.
func (v *View) mail(ctx context.Context, w *app.World) error {
	unread, more, bad, err := w.Mail.Oldest(ctx, v.You.Instance, maxCounted, mailbox.Query{Unread: true})
	if err != nil {
		return err
	}
	v.Unread, v.More, v.Bad = len(unread), more, len(bad)
	v.Asked = full.Announced(ctx, w.Mail, unread)
	if v.Unread == 0 || v.More || !v.whole { // the newest of a crowd are found by reading all of it
		return nil
	}
	newest, _, err := w.Mail.List(ctx, v.You.Instance, mailbox.Query{Unread: true, Newest: newestShown})
	if err != nil {
		return err
	}
	office := mail.Service{Mail: w.Mail, Registry: w.Registry, Pins: w.Pins}
	for _, m := range newest {
		verdict, err := office.Judge(ctx, v.You.Instance, m.Envelope)
		if err != nil {
			return err
		}
		v.Newest = append(v.Newest, Mail{
			ID: m.ID, From: string(m.Envelope.Actor.Instance), Text: m.Envelope.Text(), Verdict: verdict, At: time.UnixMilli(m.Order),
		})
	}
	return nil
}

// Denies says what the halt switch and the pauses deny to an agent that works in a folder.
func (v *View) Denies(who address.Instance, dir string) overview.Mark { return v.denied.Of(who, dir) }
