package reservation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Reservations keeps the leases of one bus. Its members are set once, before the first call.
type Reservations struct {
	Docs     store.Docs
	Presence *presence.Presence
	Registry *registry.Registry
	Machine  presence.Machine // where processes are asked about; the zero one knows of none
	// Home is the folder of the user. It, and a folder that contains it, is too wide to lease.
	Home string
	// Tell notifies those concerned that a lease has ended, before it is removed. It may be called again for those already
	// notified. If it returns an error, not all could be notified, and the lease stays, without effect, until they are. Nil: no
	// notices.
	Tell func(ctx context.Context, e Ending) error
}

// Why a lease has ended.
const (
	Expired   = "its time is over"
	SessionUp = "the session of its holder is gone"
	Gone      = "its holder was taken out of service"
	Released  = "its holder has released it"
	Ahead     = "it is dated ahead" // by more than clocks differ: it would last longer than any may
)

// An Ending is a lease that has ended.
type Ending struct {
	Lease *Lease
	Why   string
}

// A judge tells what has ended at one time. It asks about each holder once.
type judge struct {
	d     *Reservations
	now   time.Time
	known map[address.Instance]*holding
}

// A holding is what there is to know of a holder.
type holding struct {
	gone  bool
	asked bool // for its sessions
	there []*presence.Session
}

func (d *Reservations) judge(now time.Time) *judge {
	return &judge{d: d, now: now, known: map[address.Instance]*holding{}}
}

// Ended reports whether a lease has ended, and why; "" while it is valid.
func (d *Reservations) Ended(ctx context.Context, l *Lease, now time.Time) (string, error) {
	return d.judge(now).ended(ctx, l)
}

func (j *judge) ended(ctx context.Context, l *Lease) (string, error) {
	switch {
	case l.over:
		return Released, nil
	case !j.now.Before(l.Until):
		return Expired, nil
	case l.Since.After(j.now.Add(envelope.MaxSkew)):
		return Ahead, nil
	}
	h, err := j.holder(ctx, l.Holder.Canonical())
	switch {
	case err != nil:
		return "", err
	case h.gone:
		return Gone, nil
	case l.Session == "":
		return "", nil
	case !h.asked:
		if h.there, err = j.d.Presence.Of(ctx, l.Holder, j.now); err != nil {
			return "", err
		}
		h.asked = true
		h.there = slices.DeleteFunc(h.there, func(s *presence.Session) bool { return s.Ended(j.d.Machine) })
	}
	if slices.ContainsFunc(h.there, l.tiedTo) {
		return "", nil
	}
	return SessionUp, nil
}

func (j *judge) holder(ctx context.Context, i address.Instance) (*holding, error) {
	h := j.known[i]
	if h == nil {
		err := j.d.Registry.Standing(ctx, i)
		if err != nil && !errors.Is(err, registry.ErrGone) {
			return nil, err
		}
		h = &holding{gone: err != nil}
		j.known[i] = h
	}
	return h, nil
}

// tooWide tells whether a folder is more than anybody works on.
func (d *Reservations) tooWide(folder string) bool {
	return folder == "/" || folder == d.Home || d.Home != "" && within(d.Home, folder)
}

// read reads a document, whether it counts or not. store.ErrNotFound: there is none, or something that is not a lease.
func (d *Reservations) read(ctx context.Context, k store.Key) (*Lease, error) {
	doc, err := d.Docs.Get(ctx, k)
	if err != nil {
		if store.IsUnfit(err) {
			err = store.ErrNotFound
		}
		return nil, err
	}
	l, err := parse(doc)
	if err != nil || d.tooWide(l.Path) {
		return nil, store.ErrNotFound
	}
	return l, nil
}

// get is read for what counts: a part of a take that is not done is none.
func (d *Reservations) get(ctx context.Context, k store.Key) (*Lease, error) {
	for range maxTries {
		l, err := d.read(ctx, k)
		if err != nil || l.part.id == "" {
			return l, err
		}
		t, err := d.turn(ctx)
		if err != nil || t.id == l.part.id {
			return l, err
		}
		again, err := d.read(ctx, k)
		if err != nil {
			return nil, err
		}
		if again.rev == l.rev { // else the take may have been done and another one have begun, before its turn was asked for
			return nil, store.ErrNotFound
		}
	}
	return nil, store.ErrConflict
}

// On returns the leases that cover a path, that of the path first, then those of the folders above it. Who wants to know asks of each
// whether it has ended. No other documents are read.
func (d *Reservations) On(ctx context.Context, path string) ([]*Lease, error) {
	var all []*Lease
	for at := path; ; at = filepath.Dir(at) {
		l, err := d.get(ctx, keyOf(at))
		switch {
		case err == nil && l.covers(path):
			all = append(all, l)
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("look for leases on %s: %w", path, err)
		}
		if at == filepath.Dir(at) {
			return all, nil
		}
	}
}

// All returns every lease by its path, those that have ended as well.
func (d *Reservations) All(ctx context.Context) ([]*Lease, error) { return d.list(ctx, d.get) }

// list returns what get makes of each document, by its path.
func (d *Reservations) list(ctx context.Context, get func(context.Context, store.Key) (*Lease, error)) ([]*Lease, error) {
	var all []*Lease
	for e, err := range d.Docs.List(ctx, store.FileLease, "") {
		if err != nil {
			if store.IsUnfit(err) {
				continue
			}
			return nil, fmt.Errorf("list leases: %w", err)
		}
		l, err := get(ctx, e.Key)
		switch {
		case err == nil:
			all = append(all, l)
		case !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("list leases: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b *Lease) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Standing returns the leases that stand, by their paths.
func (d *Reservations) Standing(ctx context.Context, now time.Time) ([]*Lease, error) {
	all, err := d.All(ctx)
	if err != nil {
		return nil, err
	}
	j, stand := d.judge(now), all[:0]
	for _, l := range all {
		why, err := j.ended(ctx, l)
		if err != nil {
			return nil, err
		}
		if why == "" {
			stand = append(stand, l)
		}
	}
	return stand, nil
}

// Warn records that an agent was warned of a lease, so that it is notified as well when it ends. For an agent on record already
// it costs nothing.
func (d *Reservations) Warn(ctx context.Context, l *Lease, who address.Instance) error {
	return d.note(ctx, l, who, func(l *Lease) *[]address.Instance { return &l.Warned })
}

// Wait records that an agent requests a lease.
func (d *Reservations) Wait(ctx context.Context, l *Lease, who address.Instance) error {
	return d.note(ctx, l, who, func(l *Lease) *[]address.Instance { return &l.Waits })
}

// maxTries ends a loop in which each round fails only because another process has written.
const maxTries = 50

func (d *Reservations) note(ctx context.Context, l *Lease, who address.Instance, list func(*Lease) *[]address.Instance) error {
	for range maxTries {
		to := list(l)
		if who == "" || len(*to) >= maxTold || slices.ContainsFunc(*to, func(i address.Instance) bool { return i.Canonical() == who.Canonical() }) {
			return nil
		}
		*to = append(*to, who.Canonical())
		_, err := d.Docs.Replace(ctx, l.key, l.bytes(), l.rev)
		if !errors.Is(err, store.ErrConflict) {
			if errors.Is(err, store.ErrNotFound) {
				err = nil // it has ended
			}
			return err
		}
		holder := l.Holder
		if l, err = d.get(ctx, l.key); errors.Is(err, store.ErrNotFound) || err == nil && !l.Is(holder) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return store.ErrConflict
}

// finish has those concerned notified that a lease has ended, and removes it. Of several callers that do so one learns that it
// was the one.
func (d *Reservations) finish(ctx context.Context, e Ending) (mine bool, err error) {
	if d.Tell != nil {
		if err := d.Tell(ctx, e); err != nil {
			return false, err
		}
	}
	return d.remove(ctx, e.Lease)
}

// remove takes a document away as it was read.
func (d *Reservations) remove(ctx context.Context, l *Lease) (mine bool, err error) {
	err = d.Docs.Delete(ctx, l.key, l.rev)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return false, nil // another process was faster, or it was taken anew
	}
	return err == nil, err
}

// Sweep has those concerned told of what has ended, and takes it away; it returns what it took away.
func (d *Reservations) Sweep(ctx context.Context, now time.Time) ([]Ending, error) {
	all, err := d.list(ctx, d.read)
	if err != nil {
		return nil, err
	}
	t, err := d.turn(ctx)
	if err != nil {
		return nil, err
	}
	var ended []Ending
	var untold error
	j := d.judge(now)
	for _, l := range all {
		if l.part.id != "" && l.part.id != t.id {
			if err := d.abandon(ctx, t, l, now); err != nil {
				return ended, err
			}
			continue
		}
		why, err := j.ended(ctx, l)
		if err != nil {
			return ended, err
		}
		if why == "" {
			continue
		}
		mine, err := d.finish(ctx, Ending{l, why})
		if ctx.Err() != nil {
			return ended, err
		}
		untold = errors.Join(untold, err)
		if err != nil && now.After(l.Until.Add(Longest)) { // it has been tried for a day
			mine, err = d.remove(ctx, l)
			untold = errors.Join(untold, err)
		}
		if mine {
			ended = append(ended, Ending{l, why})
		}
	}
	return ended, untold
}

// Release ends a lease of a holder. ErrNone: the holder has none there. *HeldError: it belongs to another agent. If those
// concerned cannot be notified now, a later process does it.
func (d *Reservations) Release(ctx context.Context, path string, holder address.Instance, now time.Time) error {
	for range maxTries {
		l, err := d.get(ctx, keyOf(path))
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && l.over:
			return fmt.Errorf("%s: %w", shown(path), ErrNone)
		case err != nil:
			return err
		case !l.Is(holder):
			return &HeldError{Path: path, Lease: l, Now: now}
		}
		l.over, l.part = true, part{}
		l.rev, err = d.Docs.Replace(ctx, l.key, l.bytes(), l.rev)
		switch {
		case err == nil:
			_, err = d.finish(ctx, Ending{l, Released})
			return untoldError(err)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return store.ErrConflict
}

// An UntoldError reports that a lease has ended, and that those concerned could not be told yet.
type UntoldError struct{ Err error }

func (e *UntoldError) Error() string { return "some have not been notified yet: " + e.Err.Error() }

func (e *UntoldError) Unwrap() error { return e.Err }

func untoldError(err error) error {
	if err == nil {
		return nil
	}
	return &UntoldError{err}
}
