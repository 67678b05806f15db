package watchdog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/store"
)

// A moment is one of the three at which it is decided whether an agent may be asked.
type moment uint8

const (
	looking moment = iota // its entry is looked at
	asking                // right before a relauncher is called, which may be long after that
	marking               // right before the relauncher does what cannot be taken back
)

// A permit is the answer of mayAsk. The agent may be asked if the ruling is Due and the permit is not closed.
type permit struct {
	ruling Ruling
	closed string // the kind of event that says which gate is closed; "": none is
	why    string // the sentence for people
	says   string // what is added to the sentence that the agent was asked; "" for nothing
}

// mayAsk is the rule for when the watchdog asks an agent to go on. These are all gates. What is unknown closes one, except a time that cannot be read, which counts as none, and a blocker document that
// cannot be read:
//
//  1. Nothing is halted, and the lease of the bus is this program's. The error says which is not so.
//  2. Asking: the entry is the one that was looked at.
//  3. Looking: [Judge] rules by the entry, the agent's sessions, its blocker and its last message that it is due.
//  4. Looking and marking: the user of the agent has let it go on after the last halt.
//  5. Looking: its address reaches an agent.
//  6. Looking: no conductor has the first word, by [Govern] (judge.go, as [Judge]).
//  7. Asking: what is typed into its pane would not reach another agent.
//
// Before a relauncher is called a decider may rule otherwise ([Beats.consult]). The relauncher itself sees whether the agent is at rest,
// and whether a person types.
func (d *Beats) mayAsk(ctx context.Context, r *room, e *Entry, at moment) (p permit, err error) {
	p.ruling = Due
	who, now := e.Instance, d.o.Now()
	action := "relaunch " + string(who)
	switch at {
	case looking:
		action = "drumbeat"
	case asking:
		if same, err := d.o.Book.Get(ctx, who); err != nil || !bytes.Equal(same.Raw, e.Raw) {
			return permit{ruling: Over}, nil // it was cleared or recorded meanwhile: the next beat sees
		}
	}
	if err := d.may(action); err != nil {
		return p, err
	}
	if at == asking {
		if why := d.contested(r, Target{Entry: e, Session: r.latest(who.Canonical())}); why != "" {
			p.closed, p.why = Held, fmt.Sprintf("%s is left alone: %s", who, why)
		}
		return p, nil
	}
	if at == looking {
		if p.ruling, p.why, err = d.judged(ctx, r, e, now); err != nil || p.ruling != Due {
			return p, err
		}
	}
	if d.o.Engaged != nil {
		on, err := d.o.Engaged(ctx, who) // a halt may have come and gone meanwhile
		if err != nil {
			return p, err
		}
		if !on {
			p.closed, p.why = Held, fmt.Sprintf("%s is left alone: its user has not let it go on since the halt", who)
		}
	}
	if at == marking || p.closed != "" {
		return p, nil
	}
	if d.o.Reach != nil {
		why, err := d.o.Reach(ctx, who, now)
		if err != nil {
			return p, err
		}
		if why != "" {
			p.closed, p.why = Skipped, fmt.Sprintf("skip %s: %s", who, why)
			return p, nil
		}
	}
	deferred, says, err := d.govern(ctx, r, e, now)
	switch {
	case err != nil:
		return p, err
	case deferred:
		p.closed, p.why = Deferred, says
	case says != "":
		p.says = " (" + says + ")"
	}
	return p, nil
}

// may is the gate of everything that is done: the lease is ours, and nothing is halted.
func (d *Beats) may(action string) error {
	if err := d.hold(); err != nil {
		return err
	}
	return d.o.Halted(action)
}

// judged judges an entry as it is now, with what is known of its agent at this moment. Anything unknown prevents a request.
func (d *Beats) judged(ctx context.Context, r *room, e *Entry, now time.Time) (Ruling, string, error) {
	k := r.known(e, now)
	at, err := d.saidAt(ctx, e.Instance)
	if err != nil {
		return Hold, "", err
	}
	k.Did = later(k.Did, known(at, now))
	if !k.Blocked {
		switch b, err := blocker.New(d.o.Book.Store).Get(ctx, e.Instance); {
		case err == nil:
			k.Blocked = b.Active()
		case !errors.Is(err, blocker.ErrNone) && !store.IsUnfit(err):
			return Hold, "", err
		}
	}
	ruling, why, _ := Judge(e, k, &d.s, now)
	return ruling, why, nil
}

// govern tells whether an agent is left to its conductor.
func (d *Beats) govern(ctx context.Context, r *room, e *Entry, now time.Time) (deferred bool, says string, err error) {
	if d.o.Self == "" {
		return false, "", nil
	}
	seat := Conducting{Self: d.o.Self}
	if seat.SelfWorkspace, err = d.workspace(ctx, r, d.o.Self); err != nil {
		return false, "", err
	}
	if seat.Target, err = d.workspace(ctx, r, e.Instance); err != nil {
		return false, "", err
	}
	if seat.Target != "" && d.o.Conductor != nil {
		if seat.Claimed, err = d.o.Conductor(ctx, seat.Target, now); err != nil {
			return false, "", err
		}
	}
	deferred, says = Govern(seat, e, &d.s, now)
	return deferred, says, nil
}

// workspace is that of the registration, else of the latest session.
func (d *Beats) workspace(ctx context.Context, r *room, i address.Instance) (id string, err error) {
	if d.o.Workspace != nil {
		if id, err = d.o.Workspace(ctx, i); err != nil || id != "" {
			return id, err
		}
	}
	if s := r.latest(i.Canonical()); s != nil && s.Workspace != nil {
		id = s.Workspace.ID
	}
	return id, nil
}
