package agreement

import (
	"context"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
)

// A Turn is a negotiation that waits for an agent.
type Turn struct {
	ID      string
	Subject string
	State   negotiation.State
	Offer   *negotiation.Offered // what is to be signed or answered; nil when all have signed and it is to be stabilised
	Command string               // fit to be pasted
}

// Turns are the negotiations that wait for the signature or the answer of an instance, and those that it may complete. What cannot
// be read is left out: the doctor tells of it, and so does a look at that negotiation.
func (b *Bus) Turns(ctx context.Context, who address.Instance, now time.Time) ([]Turn, error) {
	var all []Turn
	for e, err := range b.store.List(ctx, store.Negotiation, "") {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return all, err
		}
		if r := b.open(ctx, e.Key, who); r != nil {
			if s, err := b.Negotiations().Status(ctx, r.ID, now); err == nil {
				if t := turnOf(r.ID, s, who); t != nil {
					all = append(all, *t)
				}
			}
		}
	}
	return all, ctx.Err()
}

// open is the record at a place if the negotiation may not be over and concerns an instance, else nil. An end, or other parties, that stand in
// state.json alone hide nothing: the journal is asked, unless this user has read that it is over.
func (b *Bus) open(ctx context.Context, k store.Key, who address.Instance) *negotiation.Record {
	doc, err := b.store.Get(ctx, k)
	if err != nil {
		return nil
	}
	r, err := negotiation.ParseRecord(doc.Data)
	if err != nil || address.Check(r.ID) != nil || address.Segment(r.ID) != k.Name {
		return nil
	}
	if r.Status.Terminal() {
		if b.Seen == nil {
			return nil
		}
		if seen, err := b.Seen.Last(r.ID); err != nil || seen.State.Terminal() {
			return nil
		}
	}
	if !r.Involved(who) && !b.Negotiations().Opened(ctx, r.ID).Involved(who) {
		return nil
	}
	return r
}

func turnOf(id string, s *negotiation.Standing, who address.Instance) *Turn {
	if s.Record == nil || s.State.Terminal() || s.Latest() == nil {
		return nil
	}
	for _, step := range s.Next {
		t := &Turn{ID: id, Subject: s.Record.Subject, State: s.State, Command: step.Command}
		switch {
		case s.Final != nil || s.State == negotiation.Accepted:
			return t
		case address.Instance(step.Who).Canonical() == who.Canonical():
			t.Offer = s.Latest()
			return t
		}
	}
	return nil
}
