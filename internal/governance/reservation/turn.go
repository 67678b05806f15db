package reservation

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// One document, the turn, serialises takes. A taker reads it, looks at what there is, writes its leases as parts of its take,
// and then changes the turn as it was read: at that moment all of them count, or, when the turn was another's, none ever does.
// A taker that changes the turn has first completed the parts that the take before may have left. So a part counts if the turn
// names its take, and one that was begun at a turn that is over will never count.

// turns is the document of the turn.
var turns = store.Key{Kind: store.FileLease, Name: "_turn"}

// TurnFile is what that document is called on a bus of files. It stays when no lease is left.
const TurnFile = "_turn.json"

// A turn is the state of the row.
type turn struct {
	number int64
	id     string // of the take that made it
	rev    store.Rev
}

// A part says that a lease is part of a take that may not be done.
type part struct {
	id    string // of the take; "": the lease is whole
	begun int64  // number of the turn at which it was begun
}

func partOf(raw []byte) (p part) {
	var v [2][]byte
	if canonjson.IsObject(raw) && canonjson.Pick(raw, []string{"id", "turn"}, v[:]) {
		p.id, _ = canonjson.String(v[0])
		p.begun, _ = canonjson.Int(v[1])
	}
	return p
}

func (p part) fill(o *canonjson.Object) {
	o.Str("id", p.id)
	o.Int("turn", p.begun)
}

// turn reads the state of the row. Where there is none it has no revision.
func (d *Reservations) turn(ctx context.Context) (t turn, err error) {
	doc, err := d.Docs.Get(ctx, turns)
	if errors.Is(err, store.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	var v [2][]byte
	if canonjson.Valid(doc.Data) && canonjson.Pick(doc.Data, []string{"turn", "take"}, v[:]) {
		t.number, _ = canonjson.Int(v[0])
		t.id, _ = canonjson.String(v[1])
	}
	t.rev = doc.Rev
	return t, nil
}

// begin reads the turn, and begins the row where there is none.
func (d *Reservations) begin(ctx context.Context) (turn, error) {
	t, err := d.turn(ctx)
	if err != nil || t.rev != "" {
		return t, err
	}
	if _, err := d.Docs.Create(ctx, turns, turn{id: rand.Text()}.bytes()); err != nil && !errors.Is(err, store.ErrExists) {
		return t, err
	}
	return d.turn(ctx)
}

func (t turn) bytes() []byte {
	var o canonjson.Object
	o.Int("turn", t.number)
	o.Str("take", t.id)
	return append(o.End(), '\n')
}

// next makes the turn that of a take. store.ErrConflict: another process was faster, since t was read.
func (d *Reservations) next(ctx context.Context, t turn, take string) error {
	_, err := d.Docs.Replace(ctx, turns, turn{number: t.number + 1, id: take}.bytes(), t.rev)
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict
	}
	return err
}

// whole writes a part of a take that is done as a lease like others.
func (d *Reservations) whole(ctx context.Context, l *Lease) (*Lease, error) {
	id := l.part.id
	for range maxTries {
		l.part = part{}
		rev, err := d.Docs.Replace(ctx, l.key, l.bytes(), l.rev)
		if err == nil {
			l.rev = rev
			return l, nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return l, err
		}
		now, err := d.read(ctx, l.key)
		if errors.Is(err, store.ErrNotFound) || err == nil && now.part.id != id {
			return l, nil // it has ended, or another process has done it
		}
		if err != nil {
			return l, err
		}
		l = now
	}
	return l, store.ErrConflict
}

// stale is how old an abandoned part is.
const stale = time.Minute

// abandon takes away what a take has left that never was done.
func (d *Reservations) abandon(ctx context.Context, t turn, l *Lease, now time.Time) error {
	if l.part.begun == t.number {
		if now.Sub(l.stored) < stale {
			return nil // another agent is at work
		}
		if err := d.cancel(ctx, t); err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
		return nil // the next look finds it
	}
	_, err := d.remove(ctx, l)
	return err
}

// cancel ends the takes that were begun at a turn: they have to begin anew.
func (d *Reservations) cancel(ctx context.Context, t turn) error {
	all, err := d.list(ctx, d.read)
	if err != nil {
		return err
	}
	if err := d.settle(ctx, t, all); err != nil {
		return err
	}
	return d.next(ctx, t, rand.Text())
}

// settle makes whole what the take of a turn has left as parts.
func (d *Reservations) settle(ctx context.Context, t turn, all []*Lease) error {
	for n, l := range all {
		if l.part.id == "" || l.part.id != t.id {
			continue
		}
		var err error
		if all[n], err = d.whole(ctx, l); err != nil {
			return err
		}
	}
	return nil
}
