package negotiation

import (
	"context"
	"errors"
	"iter"

	"tutti/internal/core/address"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// All yields the ids of the negotiations of the bus, once each: those that have a record, then, if the store can list logs,
// those that have a journal alone. An entry that cannot be read is an error, and the next one follows.
func (n *Negotiations) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		told := map[string]bool{}
		tell := func(k store.Key, err error) bool {
			id := ""
			if err == nil {
				if told[k.Name] {
					return true
				}
				id, err = n.idAt(ctx, k)
			}
			if id == "" && err == nil {
				return true // a record without an id: the journal beside it may know
			}
			told[k.Name] = err == nil
			return yield(id, err)
		}
		for e, err := range n.store.List(ctx, store.Negotiation, "") {
			if !tell(e.Key, err) {
				return
			}
		}
		logger, ok := n.store.(store.Logger)
		if !ok {
			return
		}
		for name, err := range logger.Logs(ctx, store.Journal) {
			if !tell(store.Key{Kind: store.Journal, Name: name}, err) {
				return
			}
		}
	}
}

// idAt is the id that a record, or the first entry of a journal, tells of the place where it lies; "" when it tells none. A journal
// of an older program, whose entries name none, has the id that its place is made from.
func (n *Negotiations) idAt(ctx context.Context, k store.Key) (string, error) {
	id := ""
	if k.Kind == store.Negotiation {
		doc, err := n.store.Get(ctx, k)
		if errors.Is(err, store.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		id = member(doc.Data, "id")
	} else {
		for line, err := range n.store.Read(ctx, k, "") {
			if err != nil {
				return "", err
			}
			if e, err := journal.Parse(line.Data); err == nil {
				id = e.NegotiationID
			}
			break
		}
		if id == "" {
			id = address.SegmentToAddress(k.Name)
		}
	}
	if address.Check(id) != nil || address.Segment(id) != k.Name {
		return "", nil
	}
	return id, nil
}
