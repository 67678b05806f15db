package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

const (
	// ShortenFrom is the size in bytes from which a trail is shortened: reading a smaller one whole takes less than 20 ms.
	ShortenFrom = 4 << 20
	// ShortenAge is the least age of what is taken out of one. It is far above every term that the trail is asked about.
	ShortenAge = 30 * 24 * time.Hour
)

// A Shortened says what was taken out of one trail.
type Shortened struct {
	Trail string // owner of the mailbox
	Lines int
	Bytes int64 // of these lines
}

// ShortenTrails takes out of each trail above 4 MiB the lines that are older than before and whose message is no longer in any
// mailbox or quarantine: only the archive knows about these. Lines of younger messages, lines that record that work was
// resumed, and lines that do not belong to a trail stay. before is at least 30 days ago, or that is taken. dry: nothing is
// changed. errors.ErrUnsupported: the store cannot.
func (m *Mailbox) ShortenTrails(ctx context.Context, before, now time.Time, dry bool) ([]Shortened, error) {
	s, ok := m.s.(store.Shrinker)
	if !ok {
		return nil, fmt.Errorf("shorten trails: %w", errors.ErrUnsupported)
	}
	if limit := now.Add(-ShortenAge); before.After(limit) {
		before = limit
	}
	names, err := m.trailNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("shorten trails: %w", err)
	}
	var done []Shortened
	var there map[string]bool // ids of the messages in a mailbox, once they are needed
	for _, name := range names {
		big, err := m.longer(ctx, name, ShortenFrom)
		if err == nil && big && there == nil {
			there, err = m.present(ctx)
		}
		if err != nil {
			return done, fmt.Errorf("shorten trail of %s: %w", name, err)
		}
		if !big {
			continue
		}
		d := Shortened{Trail: name}
		keep := func(line []byte) bool {
			if current(line, before, there) {
				return true
			}
			d.Lines++
			d.Bytes += int64(len(line)) + 1
			return false
		}
		if dry {
			err = m.look(ctx, name, func(line []byte) { keep(line) })
		} else {
			_, err = s.Shrink(ctx, trailKey(name), keep)
		}
		if err != nil {
			return done, fmt.Errorf("shorten trail of %s: %w", name, err)
		}
		if d.Lines > 0 {
			done = append(done, d)
		}
	}
	return done, nil
}

// current tells whether a line of a trail is still needed.
func current(line []byte, before time.Time, there map[string]bool) bool {
	var v [3][]byte
	canonjson.Pick(line, []string{"id", "at", "step"}, v[:])
	id, ok1 := canonjson.String(v[0])
	at, ok2 := canonjson.String(v[1])
	step, ok3 := canonjson.String(v[2])
	if !ok1 || !ok2 || !ok3 || Step(step) == Engaged || !Step(step).known() {
		return true
	}
	t, ok := envelope.ParseTime(at)
	return !ok || !t.Before(before) || there[id]
}

// trailNames returns the names that trails may have, by the folders of mail: a store does not list logs.
func (m *Mailbox) trailNames(ctx context.Context) ([]string, error) {
	var all []string
	for _, kind := range [...]store.Kind{store.Inbox, store.Archive, store.Quarantine} {
		for owner, err := range m.s.Owners(ctx, kind) {
			if err != nil && !store.IsUnfit(err) {
				return nil, err
			}
			if err == nil && trailKey(owner).Check() == nil {
				all = append(all, owner, address.Mailbox(address.SegmentToAddress(owner)))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// look reads the good lines of a trail.
func (m *Mailbox) look(ctx context.Context, name string, each func(line []byte)) error {
	for line, err := range m.s.Read(ctx, trailKey(name), "") {
		if err != nil && !store.IsUnfit(err) {
			return err
		}
		if err == nil {
			each(line.Data)
		}
	}
	return nil
}

// longer tells whether a trail has more than so many bytes.
func (m *Mailbox) longer(ctx context.Context, name string, limit int64) (bool, error) {
	size := int64(0)
	for line, err := range m.s.Read(ctx, trailKey(name), "") {
		if err != nil && !store.IsUnfit(err) {
			return false, err
		}
		if size += int64(len(line.Data)) + 1; size > limit {
			return true, nil
		}
	}
	return false, nil
}

// present returns the ids of all messages in any mailbox or quarantine, as trails have them. Several folders have one trail,
// and a message may be stored under another name than its own, so all are read.
func (m *Mailbox) present(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{}
	for _, kind := range [...]store.Kind{store.Inbox, store.Quarantine} {
		var owners []string
		for owner, err := range m.s.Owners(ctx, kind) {
			if err != nil && !store.IsUnfit(err) {
				return nil, err
			}
			if err == nil {
				owners = append(owners, owner)
			}
		}
		for _, owner := range owners {
			for row, err := range store.ViewOf(ctx, m.s, kind, owner, m.Projection, store.Query{Exact: true}) {
				if err != nil {
					if store.IsUnfit(err) {
						continue
					}
					return nil, err
				}
				if sum, err := envelope.Decode(row.Summary); err == nil {
					there[trailID(sum.ID)] = true
				}
			}
		}
	}
	return there, nil
}
