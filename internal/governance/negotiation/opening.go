package negotiation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// An Opening is the first entry of a journal, signed by the opener. It holds the terms: who the parties are, who has to
// sign, the quorum, the profile, the subject. state.json is a copy of them for programs that read only that.
type Opening struct {
	By address.Instance
	At string // its date
}

// Open begins a negotiation. Members that are not known here are kept. With a key, the first entry of the journal holds the terms under the
// seal of a.By; without one, as h2a specifies it, they stand in state.json alone until the first entry is written.
func (n *Negotiations) Open(ctx context.Context, raw []byte, a Act, now time.Time) (*Record, error) {
	r, err := n.toOpen(raw, now)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	b := n.bench(ctx, now)
	// A journal without a record is that of a negotiation whose record was lost. It does not begin anew under other terms.
	f := newFold(b, r.ID, r)
	tip, err := n.journals.Catch(ctx, r.ID, f)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", r.ID, err)
	case f.altered || f.differ():
		return nil, fmt.Errorf("open %s: %w, with other terms, by its journal", r.ID, ErrOpen)
	}
	if _, err := n.store.Get(ctx, stateKey(r.ID)); err == nil {
		return nil, fmt.Errorf("open %s: %w", r.ID, ErrOpen)
	}
	if a.Key != nil && tip.Count == 0 {
		if err := n.seal(ctx, b, r, a, now); err != nil {
			return nil, fmt.Errorf("open %s: %w", r.ID, err)
		}
	}
	_, err = n.store.Create(ctx, stateKey(r.ID), lay(r.Raw))
	if errors.Is(err, store.ErrExists) {
		err = ErrOpen
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", r.ID, err)
	}
	return r, nil
}

// toOpen reads a record that is to be opened.
func (n *Negotiations) toOpen(raw []byte, now time.Time) (*Record, error) {
	if canonjson.IsObject(raw) && member(raw, mStatus) == "" {
		raw = canonjson.Set(raw, mStatus, []byte(`"draft"`))
	}
	p := CheckRecord(raw, now)
	if n.AnySubject {
		p = slices.DeleteFunc(p, func(s string) bool { return strings.HasPrefix(s, subjectFault) })
	}
	if len(p) > 0 {
		return nil, &RefusedError{Why: p}
	}
	return ParseRecord(raw)
}

// seal writes the first entry.
func (n *Negotiations) seal(ctx context.Context, b *bench, r *Record, a Act, now time.Time) error {
	if err := b.here(a.By); err != nil {
		return err
	}
	if err := b.mayKey(a); err != nil {
		return err
	}
	var body canonjson.Object
	body.Str("kind", bodyOpened)
	p := &place{id: r.ID, f: newFold(b, r.ID, r)}
	_, err := n.journals.Append(ctx, r.ID, nil, journal.Seal{By: a.By, Key: a.Key}, func(tip journal.Tip) ([]byte, error) {
		if tip.Count > 0 {
			return nil, ErrOpen
		}
		return p.payload(draft{kind: bodyOpened, typ: "event", role: "CONDUCTOR", body: body.End()}, a, tip, now), nil
	})
	return err
}

// Opens tells whether an entry opens a negotiation by its form. Whether it counts depends on its seal.
func Opens(e *journal.Entry) bool {
	return e.Sequence == 0 && e.Linked() && member(e.Body, "kind") == bodyOpened && e.Member(mTerms) != nil
}

// Opened are the terms that the first entry of a journal holds, without a look at its seal; no parties where it opens nothing.
func (n *Negotiations) Opened(ctx context.Context, id string) *Record {
	if e, err := n.journals.Entry(ctx, id, ""); err == nil && Opens(e) {
		if r, err := fromTerms(e.Member(mTerms)); err == nil {
			return r
		}
	}
	return &Record{}
}

// opens takes the terms of the first entry, if who opened the negotiation has sealed it. From then on nothing is read from state.json.
func (f *fold) opens(e *journal.Entry, seal *journal.Seals) {
	if !Opens(e) || e.NegotiationID != f.id {
		return
	}
	terms := e.Member(mTerms)
	s := journal.Unsealed
	if seal != nil {
		s = *seal
	} else if len(e.Signatures) > 0 {
		s = f.b.seal(e)
	}
	by := e.Actor.Instance
	switch s {
	case journal.SealGood, journal.SealRevoked: // a key that was revoked later was its writer's then
	case journal.SealDoubted:
		p := f.b.person(by)
		code, why := p.doubts(by, p.doubtedSeal(e))
		f.tell(e, false, code, "%s", why)
		return
	case journal.SealBad:
		f.tell(e, false, CodeForged, "no key of %s has signed it", by)
		return
	default:
		f.tell(e, false, CodeUnsealed, "it opens the negotiation in the name of %s, and %s has not sealed it", by, by)
		return
	}
	r, err := fromTerms(terms)
	if err != nil || r.ID != f.id {
		f.tell(e, false, CodeInvalid, "it holds no terms of this negotiation")
		return
	}
	f.opening = &Opening{By: by, At: e.CreatedAt}
	f.terms, f.termsAt = slices.Clone(terms), e.Sequence
	f.sealers[by.Canonical()] = true
	if s == journal.SealGood {
		f.witness(e)
		f.b.person(by).meetsBy(e)
	}
	if f.record == nil || string(f.record.terms()) != string(r.terms()) {
		f.altered = f.record != nil
		f.record = r
	}
}
