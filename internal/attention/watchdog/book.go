package watchdog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A Store keeps the entries of a bus.
type Store interface {
	store.Docs
	store.Log
}

// A Book reads and writes what is recorded of agents that have stopped. Every change is judged on the record as it is at that
// moment: an entry that was taken away is not made again by a process that still had it in memory.
type Book struct {
	Store  Store
	Window time.Duration // that of [Settings]; 0: the usual one
}

// again is how often a change is tried when others write the same entry.
const again = 16

func entryKey(i address.Instance) store.Key {
	return store.Key{Kind: store.Drumbeat, Name: address.Segment(string(i))}
}

// pretty is how documents stand on disk.
func pretty(raw []byte) []byte { return append(canonjson.Indent(raw), '\n') }

// Get returns the entry of an agent, spelt as it was recorded. store.ErrNotFound: there is none.
func (b *Book) Get(ctx context.Context, i address.Instance) (*Entry, error) {
	d, err := b.Store.Get(ctx, entryKey(i))
	if err != nil {
		return nil, fmt.Errorf("drumbeat of %s: %w", i, err)
	}
	e, err := ParseEntry(d.Data)
	if err != nil || e.Instance != i {
		return nil, fmt.Errorf("drumbeat of %s: %w", i, store.ErrNotFound)
	}
	return e, nil
}

// All returns the entries by instance, and the files that are not entries.
func (b *Book) All(ctx context.Context) (all []*Entry, problems []error, err error) {
	all, problems, err = read(ctx, b.Store, store.Drumbeat, func(d store.Doc) (*Entry, error) { return ParseEntry(d.Data) })
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.Instance, b.Instance) })
	return all, problems, err
}

// parseOwn reads an entry stored under the name of its agent: one under another name does not count.
func parseOwn(d store.Doc) (*Entry, error) {
	e, err := ParseEntry(d.Data)
	if err == nil {
		err = address.Check(string(e.Instance))
	}
	if err == nil && entryKey(e.Instance) != d.Key {
		err = errors.New("is that of another agent than its name says")
	}
	return e, err
}

// read reads the documents of a kind.
func read[T any](ctx context.Context, s store.Reader, kind store.Kind, parse func(store.Doc) (*T, error)) (all []*T, problems []error, err error) {
	for e, err := range s.List(ctx, kind, "") {
		var d store.Doc
		if err == nil {
			d, err = s.Get(ctx, e.Key)
		}
		var one *T
		if err == nil {
			if one, err = parse(d); err != nil {
				err = &store.UnfitError{Key: e.Key, Where: e.Key.String(), Why: err.Error()}
			}
		}
		switch {
		case err == nil:
			all = append(all, one)
		case errors.Is(err, store.ErrNotFound): // it went away meanwhile
		case store.IsUnfit(err):
			problems = append(problems, err)
		default:
			return nil, nil, fmt.Errorf("list %s: %w", kind, err)
		}
	}
	return all, problems, nil
}

// Record writes that an agent has stopped, and returns the entry.
func (b *Book) Record(ctx context.Context, s Stop, now time.Time) (*Entry, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	window := b.Window
	if window <= 0 {
		window = Usual().Window
	}
	if s.Status == presence.Done {
		if err := b.settle(ctx, s.Instance); err != nil {
			return nil, err
		}
	}
	var made *Entry
	err := b.change(ctx, s.Instance, func(before *Entry) ([]byte, error) {
		raw := entryOf(&s, before, now, window)
		var err error
		made, err = ParseEntry(raw)
		return raw, err
	})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", s.Instance, err)
	}
	return made, b.Log(ctx, Line{Event: LogRecorded, Instance: s.Instance, At: now, Status: s.Status, Origin: s.Origin})
}

var errNoChange = errors.New("no change")

// change writes what edit makes of the current entry, nil for none. errNoChange writes nothing.
func (b *Book) change(ctx context.Context, i address.Instance, edit func(*Entry) ([]byte, error)) error {
	k := entryKey(i)
	for range again {
		d, err := b.Store.Get(ctx, k)
		if err != nil && (store.IsUnfit(err) || !errors.Is(err, store.ErrNotFound)) {
			return err
		}
		there := err == nil
		var before *Entry
		if there {
			if e, err := ParseEntry(d.Data); err == nil && e.Instance == i {
				before = e
			}
		}
		raw, err := edit(before)
		if errors.Is(err, errNoChange) {
			return nil
		}
		if err != nil {
			return err
		}
		if there {
			_, err = b.Store.Replace(ctx, k, pretty(raw), d.Rev)
		} else {
			_, err = b.Store.Create(ctx, k, pretty(raw))
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", k, store.ErrConflict)
}

// Relanced counts that an agent was asked to go on. An entry that is gone stays gone, and nil is returned for it.
func (b *Book) Relanced(ctx context.Context, i address.Instance, now time.Time) (*Entry, error) {
	return b.mark(ctx, i, func(e *Entry) []byte { return e.counted("", now) })
}

// counted is the text of an entry whose agent was asked once more, because of a message or "".
func (e *Entry) counted(request string, now time.Time) []byte {
	raw := canonjson.Set(e.Raw, "relanceCount", number(e.RelanceCount+1))
	raw = canonjson.Set(raw, "lastRelanceAt", quoted(envelope.Stamp(now)))
	if request != "" {
		raw = canonjson.Set(raw, "lastRequest", quoted(request))
	}
	return raw
}

// Claim is Relanced, because of a message or "", if the entry still is that one; nil is returned when it is not.
func (b *Book) Claim(ctx context.Context, e *Entry, request string, now time.Time) (*Entry, error) {
	return b.mark(ctx, e.Instance, func(is *Entry) []byte {
		if !is.same(e) {
			return nil
		}
		return is.counted(request, now)
	})
}

// Unclaim puts an entry back as it was before it was claimed, if it still is the claimed one.
func (b *Book) Unclaim(ctx context.Context, claimed, before *Entry) error {
	_, err := b.mark(ctx, before.Instance, func(is *Entry) []byte {
		if !is.same(claimed) {
			return nil
		}
		return before.Raw
	})
	return err
}

// same tells whether two entries have the same members.
func (e *Entry) same(o *Entry) bool {
	return bytes.Equal(canonjson.Compact(e.Raw), canonjson.Compact(o.Raw))
}

// Declined counts that there was no way to reach an agent, and says why.
func (b *Book) Declined(ctx context.Context, i address.Instance, why string, now time.Time) (*Entry, error) {
	return b.mark(ctx, i, func(e *Entry) []byte {
		raw := canonjson.Set(e.Raw, "declinedCount", number(e.DeclinedCount+1))
		raw = canonjson.Set(raw, "lastDeclinedAt", quoted(envelope.Stamp(now)))
		return canonjson.Set(raw, "declined", quoted(shortened(why, maxReason)))
	})
}

// PutAway marks an entry for good: a person has to look.
func (b *Book) PutAway(ctx context.Context, i address.Instance, action string, now time.Time) (*Entry, error) {
	return b.mark(ctx, i, func(e *Entry) []byte {
		var o canonjson.Object
		o.Str("action", action)
		o.Str("at", envelope.Stamp(now))
		return canonjson.Set(e.Raw, "terminal", o.Bytes())
	})
}

func number(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// mark changes an entry that is there; nil from edit, as from mark: nothing was changed.
func (b *Book) mark(ctx context.Context, i address.Instance, edit func(*Entry) []byte) (marked *Entry, err error) {
	err = b.change(ctx, i, func(e *Entry) ([]byte, error) {
		marked = nil
		if e == nil {
			return nil, errNoChange
		}
		raw := edit(e)
		if raw == nil {
			return nil, errNoChange
		}
		var err error
		marked, err = ParseEntry(raw)
		return raw, err
	})
	if err != nil {
		return nil, fmt.Errorf("drumbeat of %s: %w", i, err)
	}
	return marked, nil
}

// Clear removes the entry of an agent and its escalation. It is fine if there was neither.
func (b *Book) Clear(ctx context.Context, i address.Instance, now time.Time) error {
	if err := b.settle(ctx, i); err != nil {
		return err
	}
	if err := b.drop(ctx, entryKey(i), func([]byte) bool { return true }); err != nil {
		return fmt.Errorf("clear %s: %w", i, err)
	}
	return b.Log(ctx, Line{Event: LogCleared, Instance: i, At: now})
}

// WentOn takes away an entry that is of the past, if it is still that one: a stop that was recorded meanwhile stays.
func (b *Book) WentOn(ctx context.Context, e *Entry, why string, now time.Time) error {
	// The alert first: an entry that a crash leaves is looked at again, an alert without one would not be.
	if err := b.settle(ctx, e.Instance); err != nil {
		return err
	}
	same := func(raw []byte) bool { return bytes.Equal(canonjson.Compact(raw), canonjson.Compact(e.Raw)) }
	if err := b.drop(ctx, entryKey(e.Instance), same); err != nil {
		return fmt.Errorf("drumbeat of %s: %w", e.Instance, err)
	}
	return b.Log(ctx, Line{Event: LogActive, Instance: e.Instance, At: now, Reason: why})
}

// drop deletes a document if a function says so.
func (b *Book) drop(ctx context.Context, k store.Key, may func(raw []byte) bool) error {
	for range again {
		d, err := b.Store.Get(ctx, k)
		if errors.Is(err, store.ErrNotFound) || err == nil && !may(d.Data) {
			return nil
		}
		if err == nil {
			err = b.Store.Delete(ctx, k, d.Rev)
		}
		if !errors.Is(err, store.ErrConflict) {
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	return fmt.Errorf("%s: %w", k, store.ErrConflict)
}
