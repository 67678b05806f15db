package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/plain"
	"tutti/internal/presence"
	"tutti/internal/store"
)

// A Want is what somebody wants to hold.
type Want struct {
	Path   string // as package truepath has it
	Folder bool
	Holder address.Instance
	Tie    *presence.Session // with which it ends; nil: at its time alone
	For    time.Duration     // 0: Usual
	Note   string
}

// A HeldError reports a lease of somebody else.
type HeldError struct {
	Path  string // that was wanted
	Lease *Lease
	Now   time.Time
}

func (e *HeldError) Error() string {
	on := ""
	if e.Lease.Path != e.Path {
		on = " as part of " + shown(e.Lease.Path)
		if within(e.Lease.Path, e.Path) {
			on = ", of which " + shown(e.Lease.Path) + " is a part,"
		}
	}
	return fmt.Sprintf("%s%s is leased by %s since %s until %s (%s left)", plain.Clean(e.Path), on, shown(string(e.Lease.Holder)),
		envelope.Stamp(e.Lease.Since), envelope.Stamp(e.Lease.Until), e.Lease.Until.Sub(e.Now).Round(time.Second))
}

// Hint says what to type.
func (e *HeldError) Hint() string {
	return fmt.Sprintf("tutti send %s 'may I have it?'; when the lease ends you are told by mail", plain.Word(plain.Clean(string(e.Lease.Holder))))
}

var (
	// ErrLong reports a lease that is longer than any may be, or no time at all.
	ErrLong = fmt.Errorf("a lease lasts from a second to %s", Longest)
	// ErrNone reports a path on which there is no lease.
	ErrNone = errors.New("there is no lease on it")
)

// turns is the document by which takes are put in a row: each that succeeds has changed it since it looked for others.
var turns = store.Key{Kind: store.FileLease, Name: "_turn"}

// TurnFile is what that document is called on a bus of files. It stays when no lease is left.
const TurnFile = "_turn.json"

// Take takes a lease, or prolongs one that the holder has. Of several who want the same, or a folder and a part of it, one gets it.
// *HeldError: somebody else holds it; that it is wanted was put on record. ended are leases that stood in the way and had ended: who takes
// tells those concerned.
func (d *Desk) Take(ctx context.Context, w Want, now time.Time) (l *Lease, ended []Ending, err error) {
	if w.For == 0 {
		w.For = Usual
	}
	switch {
	case w.For < time.Second || w.For > Longest:
		return nil, nil, ErrLong
	case len(w.Path) > maxPath:
		return nil, nil, fmt.Errorf("lease a path of %d bytes: at most %d are taken", len(w.Path), maxPath)
	case !utf8.ValidString(w.Path):
		return nil, nil, fmt.Errorf("lease %q: a path that is no UTF-8 cannot be told to others: rename it", w.Path)
	}
	if err := address.Check(string(w.Holder)); err != nil {
		return nil, nil, fmt.Errorf("lease %s: %w", w.Path, err)
	}
	if err := d.Registry.Standing(ctx, w.Holder); err != nil {
		return nil, nil, fmt.Errorf("lease %s: %w", w.Path, err)
	}
	for range maxTries {
		var some []Ending
		l, some, err = d.take(ctx, &w, now)
		ended = append(ended, some...)
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if held, ok := errors.AsType[*HeldError](err); ok {
		return nil, ended, errors.Join(held, d.Wait(ctx, held.Lease, w.Holder))
	}
	if err != nil {
		return nil, ended, fmt.Errorf("lease %s: %w", w.Path, err)
	}
	return l, ended, nil
}

// An Ending is a lease that was found to have ended, and taken away.
type Ending struct {
	Lease *Lease
	Why   string
}

func (d *Desk) take(ctx context.Context, w *Want, now time.Time) (*Lease, []Ending, error) {
	turn, err := d.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := d.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	var own *Lease
	var ended []Ending
	for _, o := range all {
		if !o.covers(w.Path) && !(w.Folder && within(o.Path, w.Path)) {
			continue
		}
		why, err := d.Ended(ctx, o, now)
		switch {
		case err != nil:
			return nil, ended, err
		case why != "":
			mine, err := d.End(ctx, o)
			if err != nil {
				return nil, ended, err
			}
			if mine {
				ended = append(ended, Ending{o, why})
			}
		case !o.Is(w.Holder):
			return nil, ended, &HeldError{Path: w.Path, Lease: o, Now: now}
		case o.Path == w.Path:
			own = o
		}
	}
	l, err := d.put(ctx, w, own, now)
	if err != nil {
		return nil, ended, err
	}
	if err := d.next(ctx, turn); err != nil {
		if own == nil { // somebody has taken something meanwhile: perhaps this
			_, end := d.End(context.WithoutCancel(ctx), l)
			err = errors.Join(err, end)
		}
		return nil, ended, err
	}
	return l, ended, nil
}

// put writes the lease.
func (d *Desk) put(ctx context.Context, w *Want, own *Lease, now time.Time) (*Lease, error) {
	l := &Lease{Path: w.Path, Folder: w.Folder, Holder: w.Holder.Canonical(), Since: now, Until: now.Add(w.For), Note: note(w.Note), key: keyOf(w.Path)}
	if w.Tie != nil {
		l.Session = w.Tie.SessionID
		l.Agent, _ = w.Tie.Agent()
	}
	var err error
	if own == nil {
		if l.rev, err = d.Docs.Create(ctx, l.key, l.bytes()); errors.Is(err, store.ErrExists) {
			err = d.clear(ctx, l.key)
		}
		return l, err
	}
	l.Since, l.Warned, l.Waits = own.Since, own.Warned, own.Waits
	if l.Until.After(l.Since.Add(Longest)) { // it begins anew
		l.Since = now
	}
	l.rev, err = d.Docs.Replace(ctx, l.key, l.bytes(), own.rev)
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict
	}
	return l, err
}

// clear takes away what lies at the place of a lease and is none. store.ErrConflict: look again.
func (d *Desk) clear(ctx context.Context, k store.Key) error {
	doc, err := d.Docs.Get(ctx, k)
	if err == nil {
		if _, bad := parse(doc); bad != nil {
			err = d.Docs.Delete(ctx, k, doc.Rev)
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return store.ErrConflict
}

// turn is the state of the row of takes, which is begun when there is none.
func (d *Desk) turn(ctx context.Context) (store.Doc, error) {
	doc, err := d.Docs.Get(ctx, turns)
	if !errors.Is(err, store.ErrNotFound) {
		return doc, err
	}
	if _, err = d.Docs.Create(ctx, turns, []byte("{\"turn\":0}\n")); err != nil && !errors.Is(err, store.ErrExists) {
		return doc, err
	}
	return d.Docs.Get(ctx, turns)
}

// next says that something was taken. store.ErrConflict: somebody else has, since turn was read.
func (d *Desk) next(ctx context.Context, turn store.Doc) error {
	n := int64(0)
	if raw, ok := canonjson.Get(turn.Data, "turn"); ok {
		n, _ = canonjson.Int(raw)
	}
	var o canonjson.Object
	o.Int("turn", n+1)
	_, err := d.Docs.Replace(ctx, turns, append(o.End(), '\n'), turn.Rev)
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict
	}
	return err
}

// note is what a holder says, in one short line.
func note(s string) string {
	const most = 200
	return plain.Head(plain.Clean(s), most)
}

// Release ends a lease of a holder. ErrNone: there is none of his there. *HeldError: it is somebody else's.
func (d *Desk) Release(ctx context.Context, path string, holder address.Instance, now time.Time) (*Ending, error) {
	for range maxTries {
		l, err := d.get(ctx, keyOf(path))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("%s: %w", plain.Clean(path), ErrNone)
		case err != nil:
			return nil, err
		case !l.Is(holder):
			return nil, &HeldError{Path: path, Lease: l, Now: now}
		}
		if mine, err := d.End(ctx, l); mine || err != nil {
			return &Ending{l, Released}, err
		}
	}
	return nil, store.ErrConflict
}

// Sweep takes away what has ended, and returns what it took away: who calls it tells those concerned.
func (d *Desk) Sweep(ctx context.Context, now time.Time) ([]Ending, error) {
	all, err := d.All(ctx)
	if err != nil {
		return nil, err
	}
	var ended []Ending
	for _, l := range all {
		why, err := d.Ended(ctx, l, now)
		if err != nil {
			return ended, err
		}
		if why == "" {
			continue
		}
		mine, err := d.End(ctx, l)
		if err != nil {
			return ended, err
		}
		if mine {
			ended = append(ended, Ending{l, why})
		}
	}
	return ended, nil
}
