package negotiation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// A place is a negotiation as it is found: its record, if that is there, and what its journal comes to.
type place struct {
	id   string
	doc  *store.Doc // nil: there is no state.json, or it is none
	kept *Record    // what state.json holds, likewise
	f    *fold
	tip  journal.Tip
	note string // what is odd about the record
}

// find reads the record and makes an empty fold for it.
func (n *Negotiations) find(ctx context.Context, id string, now time.Time) (*place, error) {
	if err := address.Check(id); err != nil {
		return nil, err
	}
	p := &place{id: id}
	doc, err := n.store.Get(ctx, stateKey(id))
	_, unfit := errors.AsType[*store.UnfitError](err)
	var r *Record
	switch {
	case err == nil:
		if r, err = ParseRecord(doc.Data); err != nil {
			p.note = "state.json cannot be read: " + err.Error()
		} else if r.ID == "" {
			r, p.note = nil, "state.json holds no record: it has no id"
		} else if r.ID != id {
			return nil, fmt.Errorf("negotiation %s: its folder holds the record of %q", id, r.ID)
		} else {
			p.doc, p.kept = &doc, r
		}
	case errors.Is(err, store.ErrNotFound):
		p.note = "state.json is not there"
	case unfit:
		p.note = "state.json cannot be read: " + err.Error()
	default:
		return nil, fmt.Errorf("negotiation %s: %w", id, err)
	}
	p.f = newFold(n.bench(ctx, now), id, r)
	if err := p.recall(); err != nil {
		return nil, err
	}
	p.f.Reset()
	return p, nil
}

// look reads a negotiation as far as its journal goes.
func (n *Negotiations) look(ctx context.Context, id string, now time.Time) (*place, error) {
	p, err := n.find(ctx, id, now)
	if err != nil {
		return nil, err
	}
	if p.tip, err = n.journals.Catch(ctx, id, p.f); err == nil {
		err = p.known()
	}
	if err != nil {
		return nil, err
	}
	p.keep(now)
	return p, nil
}

// There is an error when a negotiation cannot be looked at, a *NotFoundError when there is none.
func (n *Negotiations) There(ctx context.Context, id string, now time.Time) error {
	_, err := n.look(ctx, id, now)
	return err
}

// known is an error when there is nothing to judge by.
func (p *place) known() error {
	if err := p.f.b.err; err != nil {
		return err
	}
	if p.f.record == nil && (p.doc == nil && p.tip.Count == 0) {
		return &NotFoundError{p.id, p.lost()}
	}
	return nil
}

// state is where the negotiation stands now.
func (p *place) state(now time.Time) (s State, why string) {
	f := p.f
	switch {
	case f.final != nil && f.final.Done:
		return Stabilized, ""
	case f.final != nil:
		return Accepted, fmt.Sprintf("being stabilised since entry %d; `%s` completes it", f.final.Index, command("stabilize", p.id))
	case f.state.Terminal():
		return f.state, fmt.Sprintf("since entry %d", f.ended)
	}
	if r := f.record; r != nil && p.doc != nil && f.opening == nil && r.Status.Terminal() {
		if r.Status != Stabilized {
			return r.Status, "state.json says so, the journal does not"
		}
		why = "state.json says stabilized, and the journal does not show it"
	}
	if w, _ := f.winner(); w != nil {
		return Accepted, why
	}
	if r := f.record; r != nil && !r.end().IsZero() && now.After(r.end()) {
		return Expired, "the deadline was " + r.Deadline
	}
	return f.state, why
}

// claims says what state.json claims that the journal of a negotiation that was opened under a seal does not show, "" for nothing.
func (p *place) claims(now time.Time) string {
	if p.f.opening == nil || p.doc == nil {
		return ""
	}
	if p.f.altered {
		return "state.json holds other terms than those under which " + string(p.f.opening.By) + " opened the negotiation; the journal decides, and the next entry, or `" + command("stabilize", p.id) + "`, writes state.json again"
	}
	if s := p.kept.Status; s.Terminal() {
		if is, _ := p.state(now); is != s {
			return fmt.Sprintf("state.json says %s, and the journal does not show it; the journal decides, and the next entry writes state.json again", s)
		}
	}
	return ""
}

// differ tells whether the record is not the one that the journal tells of.
func (f *fold) differ() bool {
	if f.terms == nil || f.record == nil {
		return false
	}
	told, err := canonjson.Canonical(f.terms)
	return err != nil || string(told) != string(f.record.terms())
}
