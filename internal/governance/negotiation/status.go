package negotiation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

func stateKey(id string) store.Key {
	return store.Key{Kind: store.Negotiation, Name: address.Segment(id)}
}

// lay lays a document out as existing programs do.
func lay(raw []byte) []byte { return append(canonjson.Indent(raw), '\n') }

// follow brings the status of state.json to that of the journal, for programs that read only that. A failure does
// no harm: the next one to write does it, and the state comes from the journal.
func (n *Negotiations) follow(ctx context.Context, p *place, now time.Time) {
	state, _ := p.state(now)
	var made []byte
	if p.f.opening != nil { // the journal decides, so that it can be written again
		made = p.f.record.Raw
	}
	_ = n.setStatus(ctx, p.id, made, func(raw []byte) []byte {
		if s := State(member(raw, mStatus)); s == state || made == nil && s.Terminal() {
			return nil
		}
		return canonjson.Set(raw, mStatus, canonjson.AppendString(nil, string(state)))
	})
}

// setStatus rewrites state.json; change returns nil when it is right already. Without the document it is made of made.
func (n *Negotiations) setStatus(ctx context.Context, id string, made []byte, change func(raw []byte) []byte) error {
	const tries = 100
	var err error
	for range tries {
		var doc store.Doc
		doc, err = n.store.Get(ctx, stateKey(id))
		if errors.Is(err, store.ErrNotFound) && made != nil {
			if _, err = n.store.Create(ctx, stateKey(id), lay(change(made))); errors.Is(err, store.ErrExists) {
				continue
			}
			return err
		}
		if err != nil {
			return err
		}
		old, altered := doc.Data, false
		r, err := ParseRecord(old)
		if unfit := err != nil || r.ID == ""; unfit && made == nil {
			return fmt.Errorf("state.json of %s is not a record", id)
		} else if made != nil && (unfit || !sameTerms(r, made)) {
			old, altered = made, true
		}
		next := change(old)
		if next == nil && altered {
			next = old
		}
		if next == nil {
			return nil
		}
		if _, err = n.store.Replace(ctx, stateKey(id), lay(next), doc.Rev); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// sameTerms tells whether a record has the terms of another one.
func sameTerms(r *Record, raw []byte) bool {
	o, err := ParseRecord(raw)
	return err == nil && string(r.terms()) == string(o.terms())
}
