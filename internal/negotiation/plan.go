package negotiation

import (
	"context"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/store"
)

// Agreed returns the artifact of a kind for a scope that was agreed on, the latest by when it was kept; nil: there is none. One that
// lies there and that nobody has signed does not count.
func (n *Negotiations) Agreed(ctx context.Context, kind, scope string, now time.Time) ([]byte, error) {
	b := n.bench(ctx, now)
	var found []byte
	var when time.Time
	seen := 0
	for entry, err := range n.store.List(ctx, store.Artifact, "") {
		if seen++; seen > maxMandates {
			break
		}
		if err != nil || found != nil && !entry.Stored.After(when) {
			continue // it is no document, or an older one
		}
		doc, err := n.store.Get(ctx, entry.Key)
		if err != nil || declaration.KindOf(doc.Data) != kind || member(doc.Data, "scope") != scope {
			continue
		}
		hash, err := canonjson.HashWhole(doc.Data)
		if err != nil || entry.Key.Name != address.Segment(hash) && entry.Key.Name != hashName(hash) || len(declaration.Guard(doc.Data)) > 0 || len(b.agreed(hash)) == 0 {
			continue
		}
		found, when = doc.Data, entry.Stored
	}
	return found, b.err
}
