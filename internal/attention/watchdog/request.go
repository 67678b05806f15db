package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// RequestKind is the kind of a message by which an agent elsewhere requests that an agent is asked to go on.
const RequestKind = "drumbeat.resume"

// The results of a request. TooSoon, Refuses, Fails and Left leave it where it is: the next look sees.
const (
	Malformed  = "malformed"
	NotTarget  = "target-mismatch"
	NotAsker   = "requester-mismatch"
	NotSigned  = "not-verified" // no valid signature
	NotAllowed = "unauthorized"
	NoEntry    = "no-entry"
	IsDone     = "done"
	IsTerminal = "terminal"
	IsSpent    = "exhausted"
	TooSoon    = "too-soon"
	Refuses    = "declined"
	Fails      = "failed"
	Left       = "deferred"
	// Followed: it was, and the program that did so ended before it took the message away.
	Followed = "followed"
)

// Relanced is the answer to a request that was followed.
const Relanced = "relanced"

// Final tells whether nothing more can come of a request with this answer, so that it is taken out of the mailbox.
func Final(result string) bool {
	return !slices.Contains([]string{TooSoon, Refuses, Fails, Left}, result)
}

// A Request is one from a mailbox. Its content is not trusted: it names no command, and an agent is asked to go on as
// its own entry has it.
type Request struct {
	Actor, Target, RequestedBy address.Instance
	Reason                     string
}

// ParseRequest reads a message; is tells whether it is a request at all, ok whether it is whole.
func ParseRequest(actor address.Instance, body []byte) (q Request, is, ok bool) {
	var v [4][]byte
	canonjson.Pick(body, []string{"kind", "target", "reason", "requestedBy"}, v[:])
	if text(v[0]) != RequestKind {
		return q, false, false
	}
	q = Request{Actor: actor, Target: address.Instance(text(v[1])), Reason: text(v[2]), RequestedBy: address.Instance(text(v[3]))}
	return q, true, q.Target != "" && q.RequestedBy != "" && (q.Reason == Stopped || q.Reason == OutOfTokens)
}

// Refused says why a request in a mailbox is not followed, as far as its own words and the entry tell; "" when nothing speaks
// against it. e is nil where there is no entry. An agent that was asked often enough is not asked again because another agent
// requests it, and no agent is asked sooner than after the spacing of its own beats.
func Refused(q Request, owner address.Instance, e *Entry, s *Settings, now time.Time) string {
	switch {
	case q.Target != owner:
		return NotTarget
	case q.RequestedBy != q.Actor:
		return NotAsker
	case e == nil:
		return NoEntry
	case e.WorkStatus == presence.Done:
		return IsDone
	case e.Terminal != "":
		return IsTerminal
	case e.tries() >= s.Cap:
		return IsSpent
	}
	if tried := known(e.tried(), now); !tried.IsZero() && now.Sub(tried) < s.gap(e.tries()) {
		return TooSoon
	}
	return ""
}

// A Skip is a request that was not followed.
type Skip struct {
	ID     string           `json:"envelopeId"`
	Reason string           `json:"reason"`
	Target address.Instance `json:"target,omitempty"`
}

// A Intake is where requests come in.
type Intake struct {
	Office   *mail.Service
	Registry *registry.Registry
}

// mostRequests is how many requests in one mailbox are looked at in one go: each costs the proof of a signature, and a sender
// of a thousand must not block the others.
const mostRequests = 64

// Requests follows the requests in the mailbox of an agent: those that are verified, by an agent that may ask, about an agent
// that has stopped. It returns the agents that were asked to go on, and the requests that were not followed.
func (d *Beats) Requests(ctx context.Context, p Intake, owner address.Instance) (relanced []address.Instance, skipped []Skip, err error) {
	if d.dry() {
		return nil, nil, errors.New("there is no way to ask an agent to go on without a relauncher")
	}
	list, _, err := p.Office.Mail.List(ctx, owner, mailbox.Query{Brief: true})
	if err != nil {
		return nil, nil, err
	}
	n, left := 0, ""
	for _, m := range list {
		if m.Summary.Kind != RequestKind {
			continue
		}
		if n++; n > mostRequests {
			break
		}
		if err := d.may("drumbeat"); err != nil {
			return relanced, skipped, err
		}
		if err := p.Office.Mail.Load(ctx, m); err != nil {
			if errors.Is(err, mailbox.ErrNoMessage) {
				continue
			}
			return relanced, skipped, err
		}
		result, target, err := d.request(ctx, p, owner, m, left)
		if err != nil {
			return relanced, skipped, err
		}
		if result == Relanced {
			relanced = append(relanced, target)
		} else {
			skipped = append(skipped, Skip{m.ID, result, target})
		}
		if !Final(result) {
			left = result
			continue
		}
		if _, err := p.Office.Ack(ctx, mail.Reader{Instance: owner}, []string{m.ID}); err != nil {
			return relanced, skipped, err
		}
	}
	return relanced, skipped, nil
}

// request follows one request: by an agent that may ask, and by all the rules by which a beat asks. before is the result of an
// earlier one that was left where it is: that was about the agent, and the next one would come to the same at the same price,
// which can be a decider's.
func (d *Beats) request(ctx context.Context, p Intake, owner address.Instance, of *mailbox.Message, before string) (result string, target address.Instance, err error) {
	id, m := of.ID, of.Envelope
	q, _, whole := ParseRequest(m.Actor.Instance, m.Body)
	if !whole {
		return Malformed, q.Target, nil
	}
	e, err := d.o.Book.Get(ctx, owner)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", q.Target, err
	}
	if errors.Is(err, store.ErrNotFound) {
		e = nil
	}
	now := d.o.Now()
	why := Refused(q, owner, e, &d.s, now)
	switch {
	case why == IsSpent: // a person has to hear of it, which no request puts off
		_, _, err := d.follow(ctx, e, id, now)
		return why, q.Target, err
	case why != "" && Final(why):
		return why, q.Target, nil
	case e.Request == id:
		return Followed, q.Target, nil
	case before != "":
		return before, q.Target, nil
	}
	verdict, err := p.Office.Judge(ctx, "", m)
	if err != nil {
		return "", q.Target, err
	}
	if !verdict.Counts() {
		return NotSigned, q.Target, nil
	}
	if may, err := p.may(ctx, q.Actor, owner); err != nil || !may {
		return NotAllowed, q.Target, err
	}
	if why != "" {
		return why, q.Target, nil
	}
	return d.follow(ctx, e, id, now)
}

// follow does what a beat would do now about the agent of an entry: a request by mail makes no agent due early.
func (d *Beats) follow(ctx context.Context, e *Entry, id string, now time.Time) (result string, target address.Instance, err error) {
	r, err := d.around(ctx, now)
	if err != nil {
		return "", e.Instance, err
	}
	p, err := d.mayAsk(ctx, r, e, looking)
	switch {
	case err != nil:
	case p.ruling == Wait:
		return TooSoon, e.Instance, nil
	case p.ruling == Hold:
		return Left, e.Instance, nil
	case p.ruling == Spent:
		return IsSpent, e.Instance, d.spent(ctx, e, p.why)
	case p.ruling == Progress:
		err = d.wentOn(ctx, e, p.why)
	case p.ruling == Due:
		_, err = d.due(ctx, r, e, p, id)
	}
	if err != nil {
		if d.ends(ctx, err) != nil {
			return "", e.Instance, err
		}
		return Fails, e.Instance, nil
	}
	after, err := d.o.Book.Get(ctx, e.Instance)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return NoEntry, e.Instance, nil // it went on
	case err != nil:
		return "", e.Instance, err
	case after.RelanceCount > e.RelanceCount:
		return Relanced, e.Instance, nil
	case after.Terminal != "":
		return IsTerminal, e.Instance, nil
	case after.DeclinedCount > e.DeclinedCount:
		return Refuses, e.Instance, nil
	}
	return Left, e.Instance, nil
}

// may reports whether an agent may ask that another goes on: itself, its conductor or principal, or one that shares a scope
// with it.
func (p Intake) may(ctx context.Context, who, target address.Instance) (bool, error) {
	if who.Canonical() == target.Canonical() {
		return true, nil
	}
	of, err := p.Registry.ByInstance(ctx, target)
	if errors.Is(err, registry.ErrNotRegistered) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up %s: %w", target, err)
	}
	by, err := p.Registry.ByInstance(ctx, who)
	if errors.Is(err, registry.ErrNotRegistered) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up %s: %w", who, err)
	}
	if by.Mirrored() {
		return false, nil // it chose its name and its scopes itself, on another machine
	}
	for _, above := range [...]string{of.Conductor, of.Principal} {
		if above != "" && address.Instance(above).Canonical() == who.Canonical() {
			return true, nil
		}
	}
	_, theirs, err := p.Registry.Effective(ctx, target)
	if err != nil {
		return false, err
	}
	_, scopes, err := p.Registry.Effective(ctx, who)
	if errors.Is(err, registry.ErrNotRegistered) {
		return false, nil
	}
	return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(theirs, s) }), err
}
