package negotiation

import (
	"context"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/store"
)

// An Agreement is an artifact that was agreed on.
type Agreement struct {
	Artifact []byte
	At       time.Time // when, as its journal says; zero: that says no time
	Stored   time.Time // when it was kept
}

// Agreed returns the artifact of a kind for a scope that was agreed on, the latest by when it was kept; nil: there is none. An
// unsigned one does not count.
func (n *Negotiations) Agreed(ctx context.Context, kind, scope string, now time.Time) ([]byte, error) {
	all, err := n.AllAgreed(ctx, kind, scope, now)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Artifact, nil
}

// AllAgreed returns all of them, the latest first.
func (n *Negotiations) AllAgreed(ctx context.Context, kind, scope string, now time.Time) (all []Agreement, err error) {
	b := n.bench(ctx, now)
	seen := 0
	for entry, err := range n.store.List(ctx, store.Artifact, "") {
		if seen++; seen > maxMandates {
			break
		}
		if err != nil {
			continue // it is not a document
		}
		doc, err := n.store.Get(ctx, entry.Key)
		if err != nil || declaration.KindOf(doc.Data) != kind || member(doc.Data, "scope") != scope {
			continue
		}
		hash, err := canonjson.HashWhole(doc.Data)
		if err != nil || entry.Key.Name != address.Segment(hash) && entry.Key.Name != hashName(hash) || len(declaration.Guard(doc.Data)) > 0 {
			continue
		}
		if f := b.agreedOn(hash); f != nil {
			at, _ := envelope.ParseTime(f.At)
			all = append(all, Agreement{doc.Data, at, entry.Stored})
		}
	}
	slices.SortStableFunc(all, func(a, b Agreement) int { return b.Stored.Compare(a.Stored) })
	return all, b.err
}
