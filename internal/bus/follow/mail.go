package follow

import (
	"context"
	"errors"
	"hash/maphash"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A box is what is known of one mailbox. Names are kept as hashes, so that a hundred thousand of them take two megabytes.
type box struct {
	known map[uint64]bool // messages that were read or lay there before; false: unfit and told
	tried map[uint64]bool // unfit ones, not told yet
}

var seed = maphash.MakeSeed()

func hashOf(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, p := range parts {
		h.WriteString(p)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func (w *Watch) box(owner string) *box {
	b := w.boxes[owner]
	if b == nil {
		b = &box{known: map[uint64]bool{}, tried: map[uint64]bool{}}
		w.boxes[owner] = b
	}
	return b
}

// Forget makes the watch look at a message again as if it had never seen it. It is for a function that Run calls: on the event
// Watching the caller has looked at the mail himself, and found something that is in the making.
func (w *Watch) Forget(k store.Key) {
	if b := w.boxes[k.Owner]; b != nil {
		delete(b.known, hashOf(k.Name))
	}
}

// lookAtBox looks at all names of a mailbox and reads those that are new. What is gone is forgotten.
func (w *Watch) lookAtBox(ctx context.Context, owner string) error {
	b := w.box(owner)
	known, tried := b.known, b.tried
	b.known, b.tried = make(map[uint64]bool, len(known)), map[uint64]bool{}
	for e, err := range w.o.Store.List(ctx, store.Inbox, owner) {
		unfit, isUnfit := errors.AsType[*store.UnfitError](err)
		if err != nil && !isUnfit {
			b.known, b.tried = known, tried // nothing is known to be gone
			return err
		}
		key := e.Key
		if isUnfit {
			key = unfit.Key
		}
		h := hashOf(key.Name)
		fit, old := known[h]
		switch {
		case !w.started && (err != nil || e.Size > 0): // an empty one is in the making
			b.known[h] = err == nil
			continue
		case old:
			b.known[h] = fit
			if fit || err != nil {
				continue
			}
		}
		if tried[h] {
			b.tried[h] = true
		}
		if err == nil {
			err = w.read(ctx, b, key)
		} else {
			err = w.strange(b, key, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mail follows a hint about one message. What is unfit may be in the making.
func (w *Watch) mail(ctx context.Context, k store.Key) error {
	b := w.box(k.Owner)
	if b.known[hashOf(k.Name)] {
		return nil
	}
	doc, err := w.o.Store.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) || errors.As(err, new(*store.UnfitError)) {
		return nil
	}
	if err != nil {
		return err
	}
	if e, err := envelope.Parse(doc.Data); err == nil {
		return w.arrived(ctx, b, k, e)
	}
	return nil
}

// read is mail for a name that a full look has found: files that are unfit then are reported at the second time.
func (w *Watch) read(ctx context.Context, b *box, k store.Key) error {
	doc, err := w.o.Store.Get(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.As(err, new(*store.UnfitError)):
		return w.strange(b, k, err)
	case err != nil:
		return err
	}
	e, err := envelope.Parse(doc.Data)
	if err != nil {
		return w.strange(b, k, &store.UnfitError{Key: k, Where: k.Path(), Why: err.Error()})
	}
	return w.arrived(ctx, b, k, e)
}

// strange notes something unfit, and tells of it when it was unfit before.
func (w *Watch) strange(b *box, k store.Key, err error) error {
	h := hashOf(k.Name)
	if fit, told := b.known[h]; told && !fit {
		return nil
	}
	if !b.tried[h] {
		b.tried[h] = true
		return nil
	}
	delete(b.tried, h)
	b.known[h] = false
	return w.tell(Event{Kind: Unfit, Mailbox: k.Owner, Err: err})
}

func (w *Watch) arrived(ctx context.Context, b *box, k store.Key, e *envelope.Envelope) error {
	b.known[hashOf(k.Name)] = true
	reader := k.Owner
	if w.o.Mailboxes != nil {
		reader = "" // all mailboxes are those of one reader
	}
	unseen := w.shown.add(hashOf(reader, e.ID))
	if k.Name == address.Segment(e.ID) { // the file under its name is the message, whatever was reported about that id before
		unseen = w.shown.add(hashOf(reader, e.ID, "own"))
	}
	if !unseen {
		return nil
	}
	told := Event{Kind: Mail, Mailbox: k.Owner, Message: e}
	if w.o.Judge != nil {
		v, err := w.o.Judge(ctx, k.Owner, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			told.Err = err
		} else {
			told.Verdict = &v
		}
	}
	return w.tell(told)
}

// recentLimit is how many hashes a recent keeps for certain: half a megabyte of them.
const recentLimit = 1 << 15

// A recent remembers the last hashes that were added, at least recentLimit of them.
type recent struct{ now, before map[uint64]struct{} }

// add tells whether h is new.
func (r *recent) add(h uint64) bool {
	if _, ok := r.now[h]; ok {
		return false
	}
	if _, ok := r.before[h]; ok {
		return false
	}
	if r.now == nil || len(r.now) >= recentLimit {
		r.now, r.before = map[uint64]struct{}{}, r.now
	}
	r.now[h] = struct{}{}
	return true
}
