package remote

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/remote/listen"
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

// A round is a group on its way.
type round struct {
	all     []*parcel
	answers []listen.Answer // as far as they are known
	there   []int           // which of all lie in a mailbox, and are not yet remembered as taken
	later   []func()        // the part that no client waits for
}

// run puts what was found good into mailboxes, a round after the other. (To begin the next one while this is noted as taken makes smaller
// rounds, and no more of them.)
func (r *Receiver) run(ctx context.Context) {
	for {
		select {
		case p := <-r.queue:
			r.finish(ctx, r.put(ctx, r.group(p)))
		case <-ctx.Done():
			return
		}
	}
}

// put delivers a group. If one message makes the whole group fail unexpectedly, it is unknown how far it came, and each of the
// others is put by itself: messages already stored count as delivered.
func (r *Receiver) put(ctx context.Context, all []*parcel) *round {
	d := &round{all: all, answers: make([]listen.Answer, len(all))}
	each := make([]int, len(all))
	for i := range each {
		each[i] = i
	}
	if r.attempt(ctx, d, each) || len(all) == 1 {
		return d
	}
	for i := range all {
		if d.answers[i].Status == 0 {
			r.attempt(ctx, d, []int{i})
		}
	}
	return d
}

// attempt delivers some of a group. When it fails where it must not, ok is false, and those without an answer are to be put again.
func (r *Receiver) attempt(ctx context.Context, d *round, some []int) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
			r.tell("putting envelopes into mailboxes failed where it must not")
		}
	}()
	good := slices.DeleteFunc(r.confirm(ctx, d, some), func(i int) bool {
		err := r.noMailbox(ctx, d.all[i].e.Target)
		if err != nil {
			d.answers[i] = r.refused(err)
		}
		return err != nil
	})
	if len(good) == 0 {
		return true
	}
	receipts := r.deliver(ctx, d, good)
	for n, i := range good {
		if receipts[n].Outcome == mail.Refused {
			d.answers[i] = r.refused(receipts[n].Err)
			continue
		}
		d.answers[i] = accepted(receipts[n].To, d.all[i].e.Actor.Instance)
		d.there = append(d.there, i)
	}
	return true
}

// finish remembers what was delivered as taken, and answers each with its result. It is never taken before it is in its
// mailbox: a client that is cut off between the two gets no answer, and finds on the next try that the very same envelope is
// there already, which counts as delivered then. Of one that was not taken its signer gets its share back: it may have been
// overheard and replayed.
func (r *Receiver) finish(ctx context.Context, d *round) {
	if err := r.keep(context.WithoutCancel(ctx), d); err != nil {
		for _, i := range d.there {
			d.answers[i] = r.failed(err) // it is stored, and will count as delivered when it comes again
		}
	}
	for i, p := range d.all {
		if d.answers[i].Status == 0 {
			d.answers[i] = listen.Error(http.StatusInternalServerError, "apply-failed")
		}
		if d.answers[i].Status/100 != 2 {
			r.Rates.Give(p.e.Actor.Instance, p.size)
		}
		p.claim.End()
		p.done <- d.answers[i]
	}
	for _, f := range d.later {
		r.remember(f)
	}
}

func (r *Receiver) remember(f func()) {
	defer func() {
		if recover() != nil {
			r.tell("noting what became of envelopes failed where it must not")
		}
	}()
	f()
}

func (r *Receiver) keep(ctx context.Context, d *round) (err error) {
	if len(d.there) == 0 {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = errors.New("noting what was taken failed where it must not")
		}
	}()
	things := make([]Thing, len(d.there))
	for n, i := range d.there {
		things[n] = d.all[i].claim.thing
	}
	return r.Guard.Keep(ctx, things...)
}

// confirm answers those of some whose key is no longer active, or that were taken meanwhile, and returns the others. It asks the stores
// once for all: that is much less than once for each.
func (r *Receiver) confirm(ctx context.Context, d *round, some []int) (good []int) {
	things := make([]Thing, len(some))
	for n, i := range some {
		things[n] = d.all[i].claim.thing
	}
	seen := r.Guard.Seen(ctx, things...)
	asked := map[address.Instance]*standing{}
	for n, i := range some {
		p := d.all[i]
		signer := p.e.Actor.Instance
		if asked[signer] == nil {
			asked[signer] = r.standing(ctx, signer)
		}
		reason, err := asked[signer].of(p)
		switch {
		case errors.Is(seen[n], ErrTaken):
			d.answers[i] = Replayed.Answer()
		case seen[n] != nil:
			d.answers[i] = r.failed(seen[n])
		case err != nil:
			d.answers[i] = r.failed(err)
		case reason != "":
			d.answers[i] = reason.Answer()
		default:
			good = append(good, i)
		}
	}
	return good
}

// standing are the active keys of a signer at this moment, or why they are not known.
type standing struct {
	keys []signature.Public
	err  error
}

func (r *Receiver) standing(ctx context.Context, signer address.Instance) *standing {
	now, err := r.Registry.Keys(ctx, signer.Agent())
	if err != nil {
		return &standing{err: err}
	}
	r.active.put(signer, now.Active)
	return &standing{keys: now.Active}
}

// of tells what speaks against an envelope that was found good under a key.
func (s *standing) of(p *parcel) (Reason, error) {
	switch {
	case s.err != nil:
		return "", s.err
	case len(s.keys) == 0:
		return NoKey, nil
	case slices.Contains(s.keys, p.key):
		return "", nil
	}
	if _, ok := Signed(p.e, p.e.Own(), s.keys); !ok { // under none of those that are left
		return BadSignature, nil
	}
	return "", nil
}

// deliver puts some of a group into mailboxes, as mail of this machine is put there.
func (r *Receiver) deliver(ctx context.Context, d *round, some []int) []mail.Receipt {
	letters := make([]mail.Draft, len(some))
	for n, i := range some {
		p := d.all[i]
		a := p.e.Actor
		letters[n] = mail.Draft{
			From: &identity.Speaker{Instance: a.Instance, Role: a.Role, Scope: a.Scope}, To: p.e.Target, Raw: p.e.Raw, Judged: p.e, Arrived: true,
			Deposit: r.Open == Anybody,
		}
	}
	receipts, remember, halted := r.Office.Deliver(ctx, letters)
	d.later = append(d.later, remember)
	if halted != nil || r.Open == Anybody || r.Open == Registered {
		return receipts
	}
	wait := r.waiting(ctx, receipts)
	if len(wait) == 0 {
		return receipts
	}
	receipts = slices.Clone(receipts) // as they were they are still needed by remember
	again := make([]mail.Draft, len(wait))
	for n, i := range wait {
		again[n] = letters[i]
		again[n].Deposit = true
	}
	second, remember, _ := r.Office.Deliver(ctx, again) // what is wrong stands in the receipts
	d.later = append(d.later, remember)
	for n, i := range wait {
		receipts[i] = second[n]
	}
	return receipts
}

// noMailbox is the error of a subagent that is not bound here and has no mailbox. The book knows a subagent by its agent, so that a signer
// could have a mailbox made for every name it thinks of.
func (r *Receiver) noMailbox(ctx context.Context, to address.Instance) error {
	if _, _, sub := to.Subagent(); !sub || r.Open == Anybody {
		return nil
	}
	_, err := r.Registry.Bound(ctx, to)
	if !errors.Is(err, registry.ErrNotBound) {
		return err
	}
	if r.Open != Registered {
		for owner, err := range r.Store.Owners(ctx, store.Inbox) {
			if err == nil && owner == to.Mailbox() {
				return nil
			}
		}
	}
	return &mail.UnknownError{To: to}
}

// waiting returns which letters were refused because no agent is registered under a full id that has a mailbox: one with a
// message in it. However many they are, it looks once which mailboxes there are.
func (r *Receiver) waiting(ctx context.Context, receipts []mail.Receipt) (wait []int) {
	var there map[string]bool
	for i := range receipts {
		unknown, ok := errors.AsType[*mail.UnknownError](receipts[i].Err)
		if !ok || receipts[i].Outcome != mail.Refused {
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
