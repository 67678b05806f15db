package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

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

// put delivers a group and answers each of it by what became of it. Of one that was not taken its signer gets its share back: it may
// have been brought by whoever overheard it.
func (r *Receiver) put(ctx context.Context, all []*parcel) {
	answers, ok := r.attempt(ctx, all)
	for i, p := range all {
		if !ok && answers[i].Status == 0 {
			answers[i] = r.alone(ctx, p, len(all))
		}
		if answers[i].Status/100 != 2 {
			r.Rates.Give(p.e.Actor.Instance, p.size)
		}
		p.claim.End()
		p.done <- answers[i]
	}
}

// alone puts one of a group of which another had the whole fail where it must not, and nobody knows how far it came. What lies there
// already counts as delivered.
func (r *Receiver) alone(ctx context.Context, p *parcel, of int) door.Answer {
	if of > 1 {
		if answers, ok := r.attempt(ctx, []*parcel{p}); ok {
			return answers[0]
		}
	}
	return door.Error(http.StatusInternalServerError, "apply-failed")
}

// attempt delivers a group and marks what was delivered as taken, at the same price where the store can. A marker is never there before
// its message. Whoever is cut off between the two is answered nothing, and finds on the next try that the very same envelope lies there
// already, which counts as delivered then. When it fails where it must not, ok is false, and those without an answer are to be put again.
func (r *Receiver) attempt(ctx context.Context, all []*parcel) (answers []door.Answer, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
			r.tell("putting envelopes into mailboxes failed where it must not")
		}
	}()
	answers = make([]door.Answer, len(all))
	alike(all)
	receipts := r.deliver(ctx, all)
	var left []int // of those that lie there and have no marker
	var claims []*Claim
	for i := range receipts {
		switch {
		case receipts[i].Outcome == post.Refused:
			answers[i] = r.refused(receipts[i].Err)
			all[i].claim.drop(context.WithoutCancel(ctx))
		case receipts[i].Beside:
			answers[i] = accepted(receipts[i].To, all[i].e.Actor.Instance)
		default:
			left, claims = append(left, i), append(claims, all[i].claim)
		}
	}
	for n, err := range r.Guard.takeAll(context.WithoutCancel(ctx), claims) {
		i := left[n]
		if answers[i] = accepted(receipts[i].To, all[i].e.Actor.Instance); err != nil {
			answers[i] = r.failed(err) // it lies there, and will count as delivered when it comes again
		}
	}
	return answers, true
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
	wait := r.waiting(ctx, receipts)
	if len(wait) == 0 {
		return receipts
	}
	again := make([]post.Letter, len(wait))
	for n, i := range wait {
		again[n] = letters[i]
		again[n].Deposit = true
	}
	second, _ := r.Office.SendAll(ctx, again) // what is wrong stands in the receipts
	for n, i := range wait {
		receipts[i] = second[n]
	}
	return receipts
}

// waiting returns which letters were refused because nobody is registered under a full id for which a mailbox is there: one that somebody
// has put something into. However many they are, it looks once which mailboxes there are.
func (r *Receiver) waiting(ctx context.Context, receipts []post.Receipt) (wait []int) {
	var there map[string]bool
	for i := range receipts {
		unknown, ok := errors.AsType[*post.UnknownError](receipts[i].Err)
		if !ok || receipts[i].Outcome != post.Refused {
			continue
		}
		if there == nil {
			there = map[string]bool{}
			for owner, err := range r.Store.Owners(ctx, store.Inbox) {
				if err == nil {
					there[owner] = true
				}
			}
		}
		if there[unknown.To.Mailbox()] {
			wait = append(wait, i)
		}
	}
	return wait
}
