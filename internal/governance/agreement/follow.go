package agreement

import (
	"context"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// A Growth is a journal to which others have added since it was looked at last.
type Growth struct {
	ID         string
	New, Total int // entries
}

// A Follower tells in which negotiations of one party something happens. A look at those in which nothing does costs a look at the
// names, and one at the end of each journal that is not over. It is used by one goroutine at a time.
type Follower struct {
	b     *Bus
	who   address.Instance
	more  []string // ids that concern it although it is not a party
	begun bool
	seen  map[string]*followed // by name of the record
}

type followed struct {
	size   int64
	stored time.Time
	id     string // "": it is over, or concerns others
	end    store.Pos
	tip    journal.Tip
}

// Follow follows the negotiations of an instance, and those of some ids. What is there at the first look is not told.
func (b *Bus) Follow(who address.Instance, more []string) *Follower {
	return &Follower{b: b, who: who, more: more, seen: map[string]*followed{}}
}

// Look returns what has grown since the look before, by entries of others.
func (f *Follower) Look(ctx context.Context) ([]Growth, error) {
	var all []Growth
	there := map[string]bool{}
	for e, err := range f.b.store.List(ctx, store.Negotiation, "") {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return all, err
		}
		there[e.Key.Name] = true
		w := f.seen[e.Key.Name]
		if w == nil {
			w = &followed{}
			f.seen[e.Key.Name] = w
		}
		was := w.id
		if w.size != e.Size || !w.stored.Equal(e.Stored) {
			w.size, w.stored, w.id = e.Size, e.Stored, f.concerns(ctx, e.Key)
		}
		id := w.id
		if id == "" {
			id = was // the entry that ended it is reported as well
		}
		if id == "" {
			continue
		}
		if g, err := f.grown(ctx, id, e.Key.Name, w); err == nil && g != nil {
			all = append(all, *g)
		}
	}
	for name := range f.seen {
		if !there[name] {
			delete(f.seen, name)
		}
	}
	f.begun = true
	return all, ctx.Err()
}

// concerns is the id of the negotiation at a place if it goes on and concerns the party, else "".
func (f *Follower) concerns(ctx context.Context, k store.Key) string {
	if r := f.b.open(ctx, k, f.who); r != nil {
		return r.ID
	}
	for _, id := range f.more {
		if address.Check(id) == nil && address.Segment(id) == k.Name {
			return id
		}
	}
	return ""
}

// grown looks at one journal. One that is broken has not grown.
func (f *Follower) grown(ctx context.Context, id, name string, w *followed) (*Growth, error) {
	log := store.Key{Kind: store.Journal, Name: name}
	end, err := store.EndOf(ctx, f.b.store, log)
	if err != nil || f.begun && end == w.end {
		return nil, err
	}
	w.end = end // also of one that is broken: it is not read again before it changes
	tip, err := f.b.journals.Catch(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	was := w.tip
	w.tip = tip
	if !f.begun || tip.Count <= was.Count {
		return nil, nil
	}
	others := false
	for line, err := range f.b.store.Read(ctx, log, was.Pos) {
		if err != nil {
			break
		}
		e, err := journal.Parse(line.Data)
		if err == nil && e.Actor.Instance.Canonical() != f.who.Canonical() {
			others = true
			break
		}
	}
	if !others {
		return nil, nil
	}
	return &Growth{ID: id, New: tip.Count - was.Count, Total: tip.Count}, nil
}
