package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// A Target is an agent that is to go on.
type Target struct {
	*Entry
	Session *presence.Session // its latest of this machine, which may have expired; nil: none is known

	claim *claim // nil: not counted
}

// Claim writes down that the agent is asked. A [Relauncher] calls it right before it does what cannot be taken back, and does nothing when that
// fails: who dies after it leaves an agent that counts as asked.
func (t Target) Claim(ctx context.Context) error {
	if t.claim == nil {
		return nil
	}
	return t.claim.take(ctx)
}

// begun tells whether something was begun that may not be done twice, or must not be done any more.
func (t Target) begun() bool { return t.claim != nil && (t.claim.marked != nil || t.claim.refused) }

// An Attempt is the result of asking an agent to go on.
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

// What one look at an agent came to.
type effort uint8

const (
	idles effort = iota // nothing was done, or that cost nothing
	waits               // it was found to wait for a person, or to be at work
	acts                // it was asked, or tried to be
)

// one does what is due about an agent.
func (d *Beats) one(ctx context.Context, r *room, listed *Entry) (did effort, err error) {
	e, err := d.o.Book.Get(ctx, listed.Instance)
	if errors.Is(err, store.ErrNotFound) {
		return idles, nil
	}
	if err != nil {
		return idles, err
	}
	p, err := d.mayAsk(ctx, r, e, looking)
	if err != nil {
		return idles, err
	}
	switch p.ruling {
	case Progress:
		return idles, d.wentOn(ctx, e, p.why)
	case Spent:
		return idles, d.spent(ctx, e, p.why)
	case Due:
		if did, err := d.byMail(ctx, e.Instance); did != idles || err != nil {
			return did, err
		}
		return d.due(ctx, r, e, p, "")
	}
	return idles, nil
}

// byMail follows the requests that lie in the mailbox of an agent that is due. Where none does, or none counts, nothing is done.
func (d *Beats) byMail(ctx context.Context, who address.Instance) (did effort, err error) {
	if d.o.Mail == nil || d.dry() {
		return idles, nil
	}
	relanced, skipped, err := d.Requests(ctx, *d.o.Mail, who)
	if len(relanced) > 0 {
		return acts, err
	}
	for _, s := range skipped {
		d.looked[who] = d.o.Now() // others come before it in the next beat
		switch s.Reason {
		case Left:
			did = max(did, waits)
		case Refuses, Fails, IsTerminal:
			did = acts
		}
	}
	return did, err
}

// dry tells whether nothing is done at all.
func (d *Beats) dry() bool { return d.o.Relaunch == nil }

func (d *Beats) wentOn(ctx context.Context, e *Entry, why string) error {
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
func (d *Beats) spent(ctx context.Context, e *Entry, why string) error {
	if d.dry() {
		d.once(e.Instance, Event{Kind: Held, Count: e.RelanceCount, Text: fmt.Sprintf("%s would be escalated to you: %s", e.Instance, why)})
		return nil
	}
	return d.raise(ctx, e, escalation.Alert{Instance: e.Instance, Reason: Exhausted, RelanceCount: e.RelanceCount, Detail: why})
}

func (d *Beats) raise(ctx context.Context, e *Entry, a escalation.Alert) error {
	news, err := d.o.Book.Raise(ctx, e, a, d.o.Now())
	if err != nil || !news {
		return err
	}
	d.tell(Event{Kind: Raised, Instance: a.Instance, Count: a.RelanceCount, Text: fmt.Sprintf("%s waits for you: %s", a.Instance, a.Detail)})
	if d.o.Alert == nil {
		return nil
	}
	return d.o.Alert(ctx, &a)
}

// due asks an agent to go on that is due, if that is permitted. request is the message because of which that is, "" for none.
func (d *Beats) due(ctx context.Context, r *room, e *Entry, p permit, request string) (did effort, err error) {
	if p.closed != "" {
		d.once(e.Instance, Event{Kind: p.closed, Text: p.why})
		return idles, nil
	}
	if d.dry() {
		d.once(e.Instance, Event{Kind: WouldAsk, Count: e.RelanceCount + 1, Text: fmt.Sprintf("%s would be asked to go on, %s%s", e.Instance, nth(e.RelanceCount+1), p.says)})
		return idles, nil
	}
	if d.o.Decider != nil && Consulted(e, &d.s) {
		if done, err := d.consult(ctx, e); done || err != nil {
			return acts, err
		}
	}
	return d.ask(ctx, r, e, p.says, request)
}

// consult asks the decider and acts on the answer; done: that was all.
func (d *Beats) consult(ctx context.Context, e *Entry) (done bool, err error) {
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
	if is, err := d.o.Book.Get(ctx, e.Instance); errors.Is(err, store.ErrNotFound) || err == nil && !is.same(e) {
		return true, nil // it was cleared, or has reported, while the decider thought
	} else if err != nil {
		return true, err
	}
	// First notify the person, then set the mark: a process that dies in between asks the decider again, and no agent is put
	// away without notice to its person.
	if err := d.raise(ctx, e, escalation.Alert{Instance: e.Instance, Reason: reason, RelanceCount: e.RelanceCount, Detail: words}); err != nil {
		return true, err
	}
	_, err = d.o.Book.PutAway(ctx, e.Instance, applied, now)
	return true, err
}

func nth(n int) string {
	words := [...]string{"", "for the first time", "for the second time", "for the third time"}
	if n > 0 && n < len(words) {
		return words[n]
	}
	return "time " + strconv.Itoa(n)
}
