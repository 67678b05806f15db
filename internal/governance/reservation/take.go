package reservation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/store"
)

// A Spot is what can be held.
type Spot struct {
	Path   string // as package truepath has it
	Folder bool   // it is a folder; what is below is covered in any case
}

// A Want is a requested lease.
type Want struct {
	Spots  []Spot // all of them or none
	Holder address.Instance
	Tie    *presence.Session // with which it ends; nil: at its time alone
	For    time.Duration     // 0: Usual
	Note   string
}

// A HeldError reports another agent's lease.
type HeldError struct {
	Path  string // the requested path
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
	return fmt.Sprintf("%s%s is reserved by %s since %s until %s (%s left)", shown(e.Path), on, shown(string(e.Lease.Holder)),
		envelope.Stamp(e.Lease.Since), envelope.Stamp(e.Lease.Until), e.Lease.Until.Sub(e.Now).Round(time.Second))
}

// Hint says what to type.
func (e *HeldError) Hint() string {
	return fmt.Sprintf("tutti send %s 'may I have it?'; you get mail when it ends", termsafe.Word(termsafe.Clean(string(e.Lease.Holder))))
}

var (
	// ErrLong reports a lease that is longer than any may be, or no time at all.
	ErrLong = fmt.Errorf("a reservation lasts from a second to %s", Longest)
	// ErrMany reports an agent that would have more leases than allowed.
	ErrMany = fmt.Errorf("no agent may have more than %d reservations at a time", MaxHeld)
	// ErrWide reports a folder that is more than anybody works on.
	ErrWide = errors.New("it holds the home folder: a reservation cannot be that wide")
	// ErrNone reports a path that is not reserved.
	ErrNone = errors.New("it is not reserved")
)

// Take takes leases on all of the spots, or on none; those that the holder has are prolonged. Of several agents that request
// the same, or a folder and a part of it, one gets it. An agent that is killed meanwhile gets none of the new ones. *HeldError:
// another agent holds one; the request was recorded.
func (d *Reservations) Take(ctx context.Context, w Want, now time.Time) ([]*Lease, error) {
	if w.For == 0 {
		w.For = Usual
	}
	if err := d.check(ctx, &w); err != nil {
		return nil, err
	}
	w.Spots = slices.Clone(w.Spots)
	slices.SortFunc(w.Spots, func(a, b Spot) int { return strings.Compare(a.Path, b.Path) }) // who crosses others meets them at the first
	w.Spots = slices.CompactFunc(w.Spots, func(a, b Spot) bool { return a.Path == b.Path })
	for try := range maxTakes {
		all, held, err := d.take(ctx, &w, now, try >= patience)
		switch {
		case errors.Is(err, store.ErrConflict):
			if err := pause(ctx, try); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, fmt.Errorf("reserve %s: %w", w.name(), err)
		case len(held) > 0:
			errs := []error{held[0]}
			for _, h := range held {
				errs = append(errs, d.Wait(ctx, h.Lease, w.Holder))
			}
			return nil, errors.Join(errs...)
		default:
			return all, nil
		}
	}
	return nil, fmt.Errorf("reserve %s: others reserve it all the time: %w", w.name(), store.ErrConflict)
}

const (
	// maxTakes is how often an agent begins anew that finds that others were faster.
	maxTakes = 200
	// patience is how often an agent waits for others at work on the same before their take is ended: they may have been
	// killed.
	patience = 20
)

// pause lets others get on who are at work on the same.
func pause(ctx context.Context, try int) error {
	const most = 20
	t := time.NewTimer(time.Duration(1+mathrand.IntN(min(try+1, most))) * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// name is how a want is called in an error.
func (w *Want) name() string {
	if len(w.Spots) == 1 {
		return shown(w.Spots[0].Path)
	}
	return fmt.Sprintf("%d paths", len(w.Spots))
}

// check refuses paths that cannot be leased.
func (d *Reservations) check(ctx context.Context, w *Want) error {
	switch {
	case w.For < time.Second || w.For > Longest:
		return ErrLong
	case len(w.Spots) > MaxHeld:
		return ErrMany
	}
	for _, s := range w.Spots {
		switch {
		case len(s.Path) > maxPath:
			return fmt.Errorf("reserve a path of %d bytes: at most %d are taken", len(s.Path), maxPath)
		case !utf8.ValidString(s.Path):
			return fmt.Errorf("reserve %q: a path that is not valid UTF-8 cannot be sent to others: rename it", s.Path)
		case d.tooWide(s.Path):
			return fmt.Errorf("reserve %s: %w", shown(s.Path), ErrWide)
		}
	}
	err := address.Check(string(w.Holder))
	if err == nil {
		err = d.Registry.Standing(ctx, w.Holder)
	}
	if err != nil {
		return fmt.Errorf("reserve %s: %w", w.name(), err)
	}
	return nil
}

// take takes once. store.ErrConflict: others were faster, or are at work; with force the next one need not wait for them.
func (d *Reservations) take(ctx context.Context, w *Want, now time.Time, force bool) ([]*Lease, []*HeldError, error) {
	t, err := d.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := d.list(ctx, d.read)
	if err != nil {
		return nil, nil, err
	}
	if err := d.settle(ctx, t, all); err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(l *Lease) bool { return l.part.id != "" })
	own, held, err := d.inTheWay(ctx, w, all, now)
	if err != nil || len(held) > 0 {
		return nil, held, err
	}
	p := part{id: rand.Text(), begun: t.number}
	made, err := d.parts(ctx, w, own, p, now)
	if err == nil {
		err = d.next(ctx, t, p.id)
	}
	if err != nil {
		d.undo(ctx, made)
		if errors.Is(err, errBusy) {
			err = store.ErrConflict
			if force {
				err = errors.Join(err, d.cancel(ctx, t))
			}
		}
		return nil, nil, err
	}
	done, err := d.done(context.WithoutCancel(ctx), w, own, made, now) // what counts now is not left half told
	return done, nil, err
}

// inTheWay returns what the holder has on the spots already, and what others hold on them. What has ended there is taken away.
func (d *Reservations) inTheWay(ctx context.Context, w *Want, all []*Lease, now time.Time) (own []*Lease, held []*HeldError, err error) {
	j, mine := d.judge(now), 0
	for _, l := range all {
		at := slices.IndexFunc(w.Spots, func(s Spot) bool { return l.Touches(s.Path) })
		if at < 0 && !l.Is(w.Holder) {
			continue
		}
		why, err := j.ended(ctx, l)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case why != "" && at >= 0:
			if _, err := d.finish(ctx, Ending{l, why}); ctx.Err() != nil {
				return nil, nil, err
			}
			if _, err := d.remove(ctx, l); err != nil { // who cannot be told does not keep others from it
				return nil, nil, err
			}
		case why != "":
		case !l.Is(w.Holder):
			held = append(held, &HeldError{Path: w.Spots[at].Path, Lease: l, Now: now})
		default:
			mine++
			if slices.ContainsFunc(w.Spots, func(s Spot) bool { return s.Path == l.Path }) {
				own = append(own, l)
			}
		}
	}
	if mine-len(own)+len(w.Spots) > MaxHeld {
		return nil, nil, ErrMany
	}
	return own, held, nil
}

// errBusy reports that another agent is at work on the same path.
var errBusy = errors.New("another agent is taking it")

// parts writes the leases that the holder has not as parts of a take. Those that it wrote it returns also with an error.
func (d *Reservations) parts(ctx context.Context, w *Want, own []*Lease, p part, now time.Time) (made []*Lease, err error) {
	for _, s := range w.Spots {
		if slices.ContainsFunc(own, func(l *Lease) bool { return l.Path == s.Path }) {
			continue
		}
		l := w.lease(s, now)
		l.part = p
		if l.rev, err = d.Docs.Create(ctx, l.key, l.bytes()); errors.Is(err, store.ErrExists) {
			err = d.clear(ctx, l.key, p.begun)
		}
		if err != nil {
			return made, err
		}
		made = append(made, l)
	}
	return made, nil
}

// lease is that of a want on a spot.
func (w *Want) lease(s Spot, now time.Time) *Lease {
	l := &Lease{Path: s.Path, Folder: s.Folder, Holder: w.Holder.Canonical(), Since: now, Until: now.Add(w.For), Note: note(w.Note), key: keyOf(s.Path)}
	if w.Tie != nil {
		l.Session = w.Tie.SessionID
		l.Agent, _ = w.Tie.Agent()
	}
	return l
}

// clear takes away what lies at the place of a lease and is none, or is a part of a take that never will be done. store.ErrConflict: look
// again. errBusy: it may be done yet.
func (d *Reservations) clear(ctx context.Context, k store.Key, begun int64) error {
	doc, err := d.Docs.Get(ctx, k)
	if err == nil {
		l, bad := parse(doc)
		switch {
		case bad != nil, d.tooWide(l.Path):
			err = d.Docs.Delete(ctx, k, doc.Rev)
		case l.part.id != "" && l.part.begun == begun:
			return errBusy
		case l.part.id != "":
			var t turn
			if t, err = d.turn(ctx); err == nil && t.number == begun && t.id != l.part.id { // else it may be of a take that has begun since, and is alive
				err = d.Docs.Delete(ctx, k, doc.Rev)
			}
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return store.ErrConflict
}

// undo takes away what a take has written that was not done. What stays does not count.
func (d *Reservations) undo(ctx context.Context, made []*Lease) {
	for _, l := range made {
		_, _ = d.remove(context.WithoutCancel(ctx), l)
	}
}

// done makes whole what was taken, and prolongs what the holder had. store.ErrConflict: one of these has ended just now, and nothing is taken.
func (d *Reservations) done(ctx context.Context, w *Want, own, made []*Lease, now time.Time) (all []*Lease, err error) {
	for n := range made {
		if made[n], err = d.whole(ctx, made[n]); err != nil {
			return nil, err
		}
	}
	all = slices.Clone(made)
	for _, o := range own {
		at := slices.IndexFunc(w.Spots, func(s Spot) bool { return s.Path == o.Path })
		l, err := d.prolong(ctx, o, w.lease(w.Spots[at], now))
		if err != nil {
			d.undo(ctx, made)
			return nil, err
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Lease) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// prolong puts a new end to a lease of the holder.
func (d *Reservations) prolong(ctx context.Context, own, l *Lease) (*Lease, error) {
	for range maxTries {
		since := own.Since
		if l.Until.After(since.Add(Longest)) { // it begins anew
			since = l.Since
		}
		next := *l
		next.Since, next.Warned, next.Waits = since, own.Warned, own.Waits
		rev, err := d.Docs.Replace(ctx, own.key, next.bytes(), own.rev)
		if err == nil {
			next.rev = rev
			return &next, nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if own, err = d.get(ctx, l.key); errors.Is(err, store.ErrNotFound) || err == nil && (!own.Is(l.Holder) || own.over) {
			return nil, store.ErrConflict
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, store.ErrConflict
}
