package watchdog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/governance/escalation"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// Options are what a [Beats] works with. Functions that are nil know nothing.
type Options struct {
	Book     *Book
	Settings Settings
	// Self is the agent that runs the watchdog: with it agents are left to the conductors of their workspaces first. "": none.
	Self address.Instance
	// Relaunch asks an agent to go on; nil: no agent is asked, and nothing is spent. It only reports what would be done.
	Relaunch Relauncher
	// Decider is asked about agents that were asked before; nil: none is.
	Decider *Decider

	// Mail is where requests come in; nil: only [Beats.Requests] follows them.
	Mail *Intake

	// Halted is asked before each thing that is done. It is needed.
	Halted func(action string) error
	// Engaged tells whether the user of an agent has let it go on after the last halt.
	Engaged func(ctx context.Context, i address.Instance) (bool, error)
	// Reach returns why an address reaches no one, "" when it may.
	Reach func(ctx context.Context, i address.Instance, now time.Time) (string, error)
	// Said is when an agent last sent something; zero: never.
	Said func(ctx context.Context, i address.Instance) (time.Time, error)
	// Workspace is the id of the workspace that an agent is registered with.
	Workspace func(ctx context.Context, i address.Instance) (string, error)
	// Conductor is the live conductor of a workspace by claim; "": none.
	Conductor func(ctx context.Context, workspace string, now time.Time) (address.Instance, error)
	// Ended reports whether the program of a session is proven to have ended, although the session was not closed.
	Ended func(ctx context.Context, s *presence.Session) bool
	// Alert notifies a person that an agent was escalated to them.
	Alert func(ctx context.Context, a *escalation.Alert) error
	// Tell gets each event.
	Tell func(Event)
	Now  func() time.Time
}

// An Event is something that happened, or that would have happened.
type Event struct {
	At       time.Time
	Kind     string // one of the words below
	Instance address.Instance
	Count    int    // how often the agent was asked to go on, with this
	Text     string // a sentence for people
	Fault    bool
}

// The kinds of events.
const (
	WouldAsk = "would-relance"
	Asked    = "relanced"
	Declines = "declined"
	Held     = "held"
	Deferred = "deferred"
	Skipped  = "skipped"
	Decided  = "decided"
	Raised   = "escalated"
	WentOn   = "active"
	Found    = "ended"
	Halted   = "halted"
	Faulty   = "fault"
)

// A Beats makes the beats. It belongs to one goroutine.
type Beats struct {
	o       Options
	s       Settings
	said    map[address.Instance]string    // what was said last of an agent that stands still
	looked  map[address.Instance]time.Time // time of the last attempt to have an agent go on
	typed   map[place]asked
	settled map[address.Instance]time.Time // when the stop of an agent was cleared whose program has ended
	hold    func() error                   // the lease is still ours
}

// New returns a drum.
func New(o Options) *Beats {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(Event) {}
	}
	d := &Beats{o: o, s: o.Settings.Full(), said: map[address.Instance]string{}, looked: map[address.Instance]time.Time{}, typed: map[place]asked{}, settled: map[address.Instance]time.Time{}, hold: func() error { return nil }}
	d.o.Book.Window = d.s.Window
	return d
}

// busy is how many agents are acted upon in one beat at most: after a restart of the machine many stand still at once, and each one that goes on
// costs its user tokens. looks is how many are looked at who turn out to wait for a person: that costs a look at their screens.
const busy, looks = 8, 64

// Beat looks at everything once and does what is due. While everything is halted it looks at nothing. The error is for a bus
// that cannot be read; errors with one agent are reported, and the others go on.
func (d *Beats) Beat(ctx context.Context) error {
	if err := d.o.Halted("drumbeat"); err != nil {
		d.once("", Event{Kind: Halted, Text: "halted: nothing is looked at"})
		return nil
	}
	delete(d.said, "")
	now := d.o.Now()
	room, err := d.around(ctx, now)
	if err != nil {
		return err
	}
	for _, s := range d.ended(ctx, room, now) {
		d.found(ctx, s, now)
	}
	acted, looked := 0, 0
	for _, e := range room.due {
		if acted >= busy || looked >= looks {
			break // those that were looked at last come last in the next beat
		}
		did, err := d.one(ctx, room, e)
		switch stop := d.ends(ctx, err); {
		case errors.Is(stop, errHalted):
			return nil
		case stop != nil:
			return stop
		}
		if err != nil {
			d.once(e.Instance, Event{Kind: Faulty, Text: err.Error(), Fault: true})
		}
		switch did {
		case acts:
			acted++
		case waits:
			looked++
		}
	}
	return nil
}

// ends tells whether an error is about everything: a halt that came in between ends the beat, and a lease that is lost the work.
func (d *Beats) ends(ctx context.Context, err error) error {
	switch _, halted := errors.AsType[*halt.Error](err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case halted:
		return errHalted
	case errors.Is(err, store.ErrLost):
		return err
	}
	return nil
}

var errHalted = errors.New("halted")

// A room is what lies on the bus at one moment. It serves to find out what is to be looked at: whatever is done is judged on the document itself.
type room struct {
	due     []*Entry // by how long ago they were last looked at
	entries map[address.Instance]*Entry
	members map[address.Instance][]*member
	blocked map[address.Instance]bool
}

// around reads entries, sessions and blockages, and finds what is due.
func (d *Beats) around(ctx context.Context, now time.Time) (*room, error) {
	members, _, err := read(ctx, d.o.Book.Store, store.Presence, parseMember)
	if err != nil {
		return nil, err
	}
	entries, _, err := read(ctx, d.o.Book.Store, store.Drumbeat, parseOwn)
	if err != nil {
		return nil, err
	}
	blocked, _, err := blocker.List(ctx, d.o.Book.Store, blocker.Filter{Active: true})
	if err != nil {
		return nil, err
	}
	r := &room{entries: map[address.Instance]*Entry{}, members: map[address.Instance][]*member{}, blocked: map[address.Instance]bool{}}
	for _, m := range members {
		r.members[m.who] = append(r.members[m.who], m)
	}
	for _, e := range entries {
		who := e.Instance.Canonical()
		if other := r.entries[who]; other == nil || e.newer(other, now) {
			r.entries[who] = e
		}
	}
	for _, b := range blocked {
		r.blocked[b.Instance.Canonical()] = true
	}
	for _, e := range r.entries {
		d.judge(r, e, now)
	}
	unseen := func(e *Entry) time.Time { return later(known(e.StoppedAt, now), d.looked[e.Instance]) }
	slices.SortFunc(r.due, func(a, b *Entry) int {
		return cmp.Or(unseen(a).Compare(unseen(b)), cmp.Compare(a.Instance, b.Instance))
	})
	d.forget(r, now)
	return r, nil
}

// newer tells which of two entries of one agent counts, which is recorded in two spellings: it is one agent, and is asked as one.
func (e *Entry) newer(than *Entry, now time.Time) bool {
	return cmp.Or(known(e.StoppedAt, now).Compare(known(than.StoppedAt, now)), cmp.Compare(e.Instance, than.Instance)) > 0
}

// forget drops what was kept of agents that are not there any more.
func (d *Beats) forget(r *room, now time.Time) {
	gone := func(who address.Instance) bool { return r.entries[who.Canonical()] == nil }
	for who := range d.said {
		if who != "" && gone(who) && r.members[who.Canonical()] == nil {
			delete(d.said, who)
		}
	}
	for who := range d.looked {
		if gone(who) {
			delete(d.looked, who)
		}
	}
	for who := range d.settled {
		if r.members[who] == nil {
			delete(d.settled, who)
		}
	}
	for where, last := range d.typed {
		if now.Sub(last.at) > d.s.Window {
			delete(d.typed, where)
		}
	}
}

// judge looks at one entry.
func (d *Beats) judge(r *room, e *Entry, now time.Time) {
	switch ruling, why, until := Judge(e, r.known(e, now), &d.s, now); ruling {
	case Due, Spent, Progress:
		r.due = append(r.due, e)
	case Hold:
		d.once(e.Instance, Event{Kind: Held, Text: fmt.Sprintf("%s is left alone: %s", e.Instance, why)})
	case Wait:
		if why != "" {
			d.once(e.Instance, Event{Kind: Held, Text: fmt.Sprintf("%s is left alone until %s: %s", e.Instance, clock(until), why)})
		}
	case Over:
		delete(d.said, e.Instance)
	}
}

// known is what the sessions of an agent say of it.
func (r *room) known(e *Entry, now time.Time) (k Known) {
	who := e.Instance.Canonical()
	k.Blocked = r.blocked[who]
	var said time.Time
	for _, m := range r.members[who] {
		k.Did = later(k.Did, known(m.at, now))
		if m.WorkStatus != "" && m.beat.After(e.StoppedAt) && m.present(now) && (k.Says == "" || m.beat.After(said)) {
			k.Says, said = m.WorkStatus, m.beat // of several sessions that which was kept last
		}
	}
	return k
}

// latest is the session of an agent with the latest heartbeat that is of this machine; nil: there is none.
func (r *room) latest(who address.Instance) (last *presence.Session) {
	var beat time.Time
	for _, m := range r.members[who] {
		if m.there() && (last == nil || m.beat.After(beat)) {
			last, beat = m.Session, m.beat
		}
	}
	return last
}

func (d *Beats) saidAt(ctx context.Context, i address.Instance) (time.Time, error) {
	if d.o.Said == nil {
		return time.Time{}, nil
	}
	return d.o.Said(ctx, i)
}

// tell tells of something.
func (d *Beats) tell(e Event) {
	e.At = d.o.Now()
	d.o.Tell(e)
}

// once tells of an agent that stands still, unless that was said last.
func (d *Beats) once(who address.Instance, e Event) {
	e.Instance = who
	if is := e.Kind + " " + e.Text; d.said[who] != is {
		d.said[who] = is
		d.tell(e)
	}
}
