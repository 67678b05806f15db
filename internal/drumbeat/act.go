package drumbeat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tutti/internal/address"
	"tutti/internal/escalation"
	"tutti/internal/halt"
	"tutti/internal/presence"
	"tutti/internal/store"
)

// A Target is an agent that is to go on.
type Target struct {
	*Entry
	Session *presence.Session // its latest of this machine, which may have expired; nil: none is known
}

// An Attempt is what came of asking an agent to go on. Of the first three at most one is set; none: there was no way to reach it, and Why says so.
type Attempt struct {
	Did    bool   // it was asked
	AtWork bool   // it was seen at work, and nothing was done
	Held   string // why it cannot be asked now, in words: a person types, or it waits for one
	How    string // with Did, for people: "typed into pane %3"
	Why    string
}

// A Relauncher asks an agent to go on, with a fixed sentence or by taking up its conversation again. Nothing that stands in an entry is run or
// typed. The error of a halt that came in between is a *halt.Error; nothing was done then.
type Relauncher interface {
	Try(ctx context.Context, t Target) (Attempt, error)
}

// may tells whether something may be done now: the lease is ours, and nothing is halted.
func (d *Drum) may(action string) error {
	if err := d.hold(); err != nil {
		return err
	}
	return d.o.Halted(action)
}

// one does what is due about an agent; did tells whether that was more than to look.
func (d *Drum) one(ctx context.Context, r *room, listed *stopped) (did bool, err error) {
	if err := d.may("drumbeat"); err != nil {
		return false, err
	}
	e, err := d.o.Book.Get(ctx, listed.Instance)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := d.o.Now()
	k := r.known(listed, now)
	if at, err := d.saidAt(ctx, e.Instance); err == nil {
		k.Did = later(k.Did, known(at, now))
	}
	switch ruling, why, _ := Judge(e, k, &d.s, now); ruling {
	case Progress:
		return false, d.wentOn(ctx, e, why)
	case Spent:
		return false, d.spent(ctx, e, why)
	case Due:
		return d.due(ctx, r, e, now)
	}
	return false, nil
}

// dry tells whether nothing is done at all.
func (d *Drum) dry() bool { return d.o.Relaunch == nil }

func (d *Drum) wentOn(ctx context.Context, e *Entry, why string) error {
	says := Event{Kind: WentOn, Count: e.RelanceCount, Text: fmt.Sprintf("%s: %s", e.Instance, why)}
	if d.dry() {
		d.once(e.Instance, says)
		return nil
	}
	if err := d.o.Book.WentOn(ctx, e, why, d.o.Now()); err != nil {
		return err
	}
	says.Instance = e.Instance
	d.tell(says)
	return nil
}

// spent puts an agent before its person that was asked often enough.
func (d *Drum) spent(ctx context.Context, e *Entry, why string) error {
	if d.dry() {
		d.once(e.Instance, Event{Kind: Held, Count: e.RelanceCount, Text: fmt.Sprintf("%s would be put before you: %s", e.Instance, why)})
		return nil
	}
	return d.raise(ctx, escalation.Alert{Instance: e.Instance, Reason: Exhausted, RelanceCount: e.RelanceCount, Detail: why})
}

func (d *Drum) raise(ctx context.Context, a escalation.Alert) error {
	news, err := d.o.Book.Raise(ctx, a, d.o.Now())
	if err != nil || !news {
		return err
	}
	d.tell(Event{Kind: Raised, Instance: a.Instance, Count: a.RelanceCount, Text: fmt.Sprintf("%s waits for you: %s", a.Instance, a.Detail)})
	if d.o.Alert == nil {
		return nil
	}
	return d.o.Alert(ctx, &a)
}

// due asks an agent to go on, if nothing speaks against that now.
func (d *Drum) due(ctx context.Context, r *room, e *Entry, now time.Time) (did bool, err error) {
	who := e.Instance
	if d.o.Engaged != nil {
		on, err := d.o.Engaged(ctx, who)
		if err != nil {
			return false, err
		}
		if !on {
			d.once(who, Event{Kind: Held, Text: fmt.Sprintf("%s is left alone: its user has not let it go on since the halt (tutti resume --session %s)", who, who)})
			return false, nil
		}
	}
	if d.o.Reach != nil {
		why, err := d.o.Reach(ctx, who, now)
		if err != nil {
			return false, err
		}
		if why != "" {
			d.once(who, Event{Kind: Skipped, Text: fmt.Sprintf("skip %s: %s", who, why)})
			return false, nil
		}
	}
	deferred, says, err := d.govern(ctx, r, e, now)
	if err != nil {
		return false, err
	}
	if deferred {
		d.once(who, Event{Kind: Deferred, Text: says})
		return false, nil
	}
	if says != "" {
		says = " (" + says + ")"
	}
	if d.dry() {
		d.once(who, Event{Kind: WouldAsk, Count: e.RelanceCount + 1, Text: fmt.Sprintf("%s would be asked to go on, %s%s", who, nth(e.RelanceCount+1), says)})
		return false, nil
	}
	if d.o.Decider != nil && Consulted(e, &d.s) {
		if done, err := d.consult(ctx, e); done || err != nil {
			return true, err
		}
	}
	return d.ask(ctx, r, e, says)
}

// govern tells whether an agent is left to its conductor.
func (d *Drum) govern(ctx context.Context, r *room, e *Entry, now time.Time) (deferred bool, says string, err error) {
	if d.o.Self == "" {
		return false, "", nil
	}
	seat := Seat{Self: d.o.Self}
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
func (d *Drum) workspace(ctx context.Context, r *room, i address.Instance) (id string, err error) {
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

// consult asks the decider and does what comes of it; done: that was all.
func (d *Drum) consult(ctx context.Context, e *Entry) (done bool, err error) {
	v := d.o.Decider.Ask(ctx, e)
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	if err := d.may("drumbeat"); err != nil { // it took its time
		return true, err
	}
	now := d.o.Now()
	applied := Apply(v, e.WorkStatus, d.s.Enforce)
	line := Line{Instance: e.Instance, At: now, Reason: v.Reason, Decided: v.Action, Applied: applied, Decider: d.o.Decider.name(), Enforced: d.s.Enforce}
	if err := d.o.Book.Log(ctx, line); err != nil {
		return true, err
	}
	words := fmt.Sprintf("the decider says %s of %s", v.Action, e.Instance)
	if v.Reason != "" {
		words += ": " + v.Reason
	}
	d.tell(Event{Kind: Decided, Instance: e.Instance, Count: e.RelanceCount, Text: words})
	reason := Watchdog
	switch applied {
	case Relance:
		return false, nil
	case Finish:
		return true, d.o.Book.WentOn(ctx, e, words, now)
	case Reroute:
		reason = RerouteAsk
	}
	if marked, err := d.o.Book.PutAway(ctx, e.Instance, applied, now); err != nil || marked == nil {
		return true, err
	}
	return true, d.raise(ctx, escalation.Alert{Instance: e.Instance, Reason: reason, RelanceCount: e.RelanceCount, Detail: words})
}

// ask asks an agent to go on, and writes down what came of it.
func (d *Drum) ask(ctx context.Context, r *room, e *Entry, says string) (did bool, err error) {
	if same, err := d.o.Book.Get(ctx, e.Instance); err != nil || !bytes.Equal(same.Raw, e.Raw) {
		return false, nil // it was cleared or recorded meanwhile: the next beat sees
	}
	if err := d.may("relaunch " + string(e.Instance)); err != nil {
		return false, err
	}
	a, err := d.o.Relaunch.Try(ctx, Target{e, r.latest(e.Instance.Canonical())})
	if _, halted := errors.AsType[*halt.Error](err); halted || ctx.Err() != nil {
		return false, err
	}
	if err != nil {
		a = Attempt{Why: err.Error()}
	}
	now := d.o.Now()
	switch {
	case a.Did:
		return true, d.asked(ctx, e, now, a.How+says)
	case a.AtWork && (e.tries() == 0 || now.Sub(e.tried()) > d.s.Progress):
		return true, d.wentOn(ctx, e, "it was seen at work")
	case a.AtWork:
		a.Held = "it is at work"
		fallthrough
	case a.Held != "":
		d.once(e.Instance, Event{Kind: Held, Count: e.RelanceCount, Text: fmt.Sprintf("%s is left alone: %s", e.Instance, a.Held)})
		return true, nil
	}
	marked, err := d.o.Book.Declined(ctx, e.Instance, a.Why, now)
	if err != nil || marked == nil {
		return true, err
	}
	d.tell(Event{Kind: Declines, Instance: e.Instance, Count: e.RelanceCount, Text: fmt.Sprintf("%s cannot be asked to go on: %s", e.Instance, a.Why)})
	return true, d.o.Book.Log(ctx, Line{Event: LogDeclined, Instance: e.Instance, At: now, Reason: a.Why})
}

// asked counts that an agent was asked.
func (d *Drum) asked(ctx context.Context, e *Entry, now time.Time, how string) error {
	marked, err := d.o.Book.Relanced(ctx, e.Instance, now)
	if err != nil {
		return err
	}
	n := e.RelanceCount + 1
	d.tell(Event{Kind: Asked, Instance: e.Instance, Count: n, Text: fmt.Sprintf("%s was asked to go on, %s: %s", e.Instance, nth(n), how)})
	if marked == nil { // it was cleared while that was done
		return nil
	}
	return d.o.Book.Log(ctx, Line{Event: LogRelanced, Instance: e.Instance, At: now, Count: n, Reason: reasonOf(e)})
}

func nth(n int) string {
	words := [...]string{"", "for the first time", "for the second time", "for the third time"}
	if n > 0 && n < len(words) {
		return words[n]
	}
	return "time " + strconv.Itoa(n)
}
