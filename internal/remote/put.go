package remote

import (
	"context"
	"errors"
	"time"

	"tutti/internal/address"
	"tutti/internal/envelope"
	"tutti/internal/identity"
	"tutti/internal/post"
	"tutti/internal/remote/door"
	"tutti/internal/store"
)

// maxGroup is how many envelopes are put at a time: what comes while others are being made durable waits for the next round, and
// shares its price.
const maxGroup = 64

// group is what waits, beginning with p.
func (r *Receiver) group(p *parcel) []*parcel {
	all := []*parcel{p}
	for len(all) < maxGroup {
		select {
		case p := <-r.queue:
			all = append(all, p)
		default:
			return all
		}
	}
	return all
}

// put delivers a group, marks what was delivered as taken, at the same price where the store can, then answers. A marker is never
// there before its message. Whoever is cut off between the two is answered nothing, and finds on the next try that the very same envelope lies there already, which counts as delivered then.
func (r *Receiver) put(ctx context.Context, all []*parcel) {
	answers := make([]door.Answer, len(all))
	defer func() {
		failure := recover()
		for i, p := range all {
			if failure != nil {
				answers[i] = door.Error(500, "apply-failed")
			}
			p.claim.End()
			p.done <- answers[i]
		}
		if failure != nil && r.Log != nil {
			r.Log("putting envelopes into mailboxes failed where it must not")
		}
	}()
	alike(all)
	receipts := r.deliver(ctx, all)
	var claims []*Claim
	for i := range receipts {
		if receipts[i].Outcome == post.Refused {
			answers[i] = r.refused(receipts[i].Err)
			all[i].claim.drop(context.WithoutCancel(ctx))
			continue
		}
		answers[i] = accepted(receipts[i].To, all[i].e.Actor.Instance)
		if !receipts[i].Beside {
			claims = append(claims, all[i].claim)
		}
	}
	if len(claims) == 0 {
		return
	}
	if err := r.Guard.takeAll(context.WithoutCancel(ctx), claims); err != nil {
		for i := range answers {
			if answers[i].Status/100 == 2 {
				answers[i] = r.failed(err) // it lies there, and will count as delivered when it comes again
			}
		}
	}
}

// alike has the markers of a group say the same, that of the youngest of its envelopes: a store keeps many documents of one content for
// the price of few.
func alike(all []*parcel) {
	if len(all) < 2 {
		return
	}
	var latest time.Time
	var data []byte
	for _, p := range all {
		if made, ok := envelope.ParseTime(p.e.CreatedAt); ok && (data == nil || made.After(latest)) {
			latest, data = made, marker("", p.e.CreatedAt)
		}
	}
	if data == nil {
		return
	}
	for _, p := range all {
		p.claim.data = data
	}
}

// deliver puts a group into mailboxes, as mail of this machine is put there.
func (r *Receiver) deliver(ctx context.Context, all []*parcel) []post.Receipt {
	letters := make([]post.Letter, len(all))
	for i, p := range all {
		a := p.e.Actor
		letters[i] = post.Letter{
			From: &identity.Speaker{Instance: a.Instance, Role: a.Role, Scope: a.Scope}, To: p.e.Target, Raw: p.e.Raw, Judged: p.e, Arrived: true,
			Deposit: r.Open == Anybody, Beside: &store.Doc{Key: p.claim.key(), Data: p.claim.data},
		}
	}
	receipts, halted := r.Office.SendAll(ctx, letters)
	if halted != nil || r.Open == Anybody || r.Open == Registered {
		return receipts
	}
	for i := range receipts {
		if r.waits(ctx, &receipts[i]) {
			letters[i].Deposit = true
			receipts[i], _ = r.Office.Send(ctx, letters[i]) // what is wrong stands in the receipt
		}
	}
	return receipts
}

// waits tells whether a letter was refused because nobody is registered under a full id for which a mailbox is there.
func (r *Receiver) waits(ctx context.Context, p *post.Receipt) bool {
	var unknown *post.UnknownError
	return p.Outcome == post.Refused && errors.As(p.Err, &unknown) && r.hasBox(ctx, unknown.To)
}

// hasBox tells whether an address has a mailbox that somebody has put something into.
func (r *Receiver) hasBox(ctx context.Context, who address.Instance) bool {
	for owner, err := range r.Store.Owners(ctx, store.Inbox) {
		if err == nil && owner == who.Mailbox() {
			return true
		}
	}
	return false
}
