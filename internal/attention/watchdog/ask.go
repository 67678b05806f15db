package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// A claim is the mark that an agent is asked now. It is written before anything is typed, sent or started, so that a process
// that dies in between leaves an agent that counts as asked, and it is not asked a second time before its pause is over. If the
// request fails, it is taken back.
type claim struct {
	d       *Beats
	e       *Entry
	request string
	marked  *Entry // nil: it was not written
	refused bool   // it may not be
}

// errPassed reports that an agent may not be asked any more: its entry is another one, or its user has to let it go on first.
var errPassed = errors.New("it is another matter by now")

// take writes the mark, once, if nothing has changed since the agent was looked at.
func (c *claim) take(ctx context.Context) (err error) {
	defer func() { c.refused = err != nil }()
	if c.marked != nil {
		return c.d.may("relaunch " + string(c.e.Instance))
	}
	switch p, err := c.d.mayAsk(ctx, nil, c.e, marking); {
	case err != nil:
		return err
	case p.closed != "":
		return errPassed
	}
	marked, err := c.d.o.Book.Claim(ctx, c.e, c.request, c.d.o.Now())
	if err == nil && marked == nil {
		err = errPassed
	}
	c.marked = marked
	return err
}

// back takes it back. What was recorded meanwhile stays.
func (c *claim) back(ctx context.Context) error {
	if c.marked == nil {
		return nil
	}
	return c.d.o.Book.Unclaim(context.WithoutCancel(ctx), c.marked, c.e)
}

// ask asks an agent to go on, and records the result.
func (d *Beats) ask(ctx context.Context, r *room, e *Entry, says, request string) (did effort, err error) {
	p, err := d.mayAsk(ctx, r, e, asking)
	if err != nil || p.ruling != Due {
		return idles, err
	}
	d.looked[e.Instance] = d.o.Now()
	if p.closed != "" {
		d.once(e.Instance, Event{Kind: p.closed, Count: e.RelanceCount, Text: p.why})
		return idles, nil
	}
	t := Target{Entry: e, Session: r.latest(e.Instance.Canonical())}
	c := &claim{d: d, e: e, request: request}
	t.claim = c
	a, err := d.o.Relaunch.Try(ctx, t)
	if a.Did {
		if where, _ := placeOf(t); where.pane != "" {
			d.typed[where] = asked{e.Instance.Canonical(), d.o.Now()}
		}
		return acts, d.asked(ctx, c, a.How+says)
	}
	switch _, halted := errors.AsType[*halt.Error](err); {
	case halted, errors.Is(err, store.ErrLost):
		return idles, errors.Join(err, c.back(ctx))
	case errors.Is(err, errPassed):
		return idles, c.back(ctx)
	case ctx.Err() != nil: // it is unknown whether it was asked: it counts
		return idles, err
	case err != nil:
		a = Attempt{Why: err.Error()}
	}
	if err := c.back(ctx); err != nil {
		return acts, err
	}
	return d.notAsked(ctx, e, a)
}

// notAsked writes down why an agent was not asked.
func (d *Beats) notAsked(ctx context.Context, e *Entry, a Attempt) (did effort, err error) {
	now := d.o.Now()
	switch {
	case a.AtWork && (e.tries() == 0 || now.Sub(e.tried()) > d.s.Progress):
		return waits, d.wentOn(ctx, e, "it was seen at work")
	case a.AtWork:
		a.Held = "it is at work"
		fallthrough
	case a.Held != "":
		d.once(e.Instance, Event{Kind: Held, Count: e.RelanceCount, Text: fmt.Sprintf("%s is left alone: %s", e.Instance, a.Held)})
		return waits, nil
	}
	marked, err := d.o.Book.Declined(ctx, e.Instance, a.Why, now)
	if err != nil || marked == nil {
		return acts, err
	}
	d.tell(Event{Kind: Declines, Instance: e.Instance, Count: e.RelanceCount, Text: fmt.Sprintf("%s cannot be asked to go on: %s", e.Instance, a.Why)})
	return acts, d.o.Book.Log(ctx, Line{Event: LogDeclined, Instance: e.Instance, At: now, Reason: a.Why})
}

// asked tells that an agent was asked. A relauncher that took no mark gets it now.
func (d *Beats) asked(ctx context.Context, c *claim, how string) error {
	e, now := c.e, d.o.Now()
	n := e.RelanceCount + 1
	marked := c.marked
	if marked == nil {
		var err error
		if marked, err = d.o.Book.Relanced(ctx, e.Instance, now); err != nil {
			return err
		}
	}
	d.tell(Event{Kind: Asked, Instance: e.Instance, Count: n, Text: fmt.Sprintf("%s was asked to go on, %s: %s", e.Instance, nth(n), how)})
	if marked == nil { // it was cleared while that was done
		return nil
	}
	return d.o.Book.Log(ctx, Line{Event: LogRelanced, Instance: e.Instance, At: now, Count: n, Reason: reasonOf(e)})
}

// A place is a pane, as it is named by those who live in it.
type place struct{ kind, session, pane string }

// may reports whether two places can be one: an unnamed session can be any.
func (p place) may(be place) bool {
	return p.kind == be.kind && p.pane == be.pane && (p.session == be.session || p.session == "" || be.session == "")
}

// An asked is what was last typed into a place.
type asked struct {
	who address.Instance // canonical
	at  time.Time
}

// placeOf is where the agent of a target is looked for, "" for an unnamed pane; proven reports whether it is by a session of
// its own, whose keeper has to live there.
func placeOf(t Target) (where place, proven bool) {
	q := inhabitant(t)
	return place{q.Kind, q.Session, q.Pane}, q.Kept != nil
}

// isIn tells whether a session says that its agent lives in a place now.
func (m *member) isIn(where place, now time.Time) bool {
	return m.who.Host() == where.kind && m.Launch != nil && m.Launch.Tmux != nil && m.Launch.Tmux.Pane == where.pane &&
		(where.session == "" || m.Launch.Tmux.Session == where.session) && m.there() && m.present(now)
}

// contested returns why text typed into a place would reach another agent, "" if nothing suggests that.
func (d *Beats) contested(r *room, t Target) string {
	where, proven := placeOf(t)
	if where.pane == "" {
		return ""
	}
	who, now := t.Instance.Canonical(), d.o.Now()
	for other, sessions := range r.members {
		if !proven && other != who && slices.ContainsFunc(sessions, func(m *member) bool { return m.isIn(where, now) }) {
			return fmt.Sprintf("its pane %s is that of %s", where.pane, other)
		}
	}
	for other, last := range d.typed {
		if other.may(where) && last.who != who && now.Sub(last.at) <= d.s.Window {
			return fmt.Sprintf("in its pane %s was asked lately, for %s", where.pane, last.who)
		}
	}
	return ""
}
