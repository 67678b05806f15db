// Package journal keeps the log of one negotiation: a chain of entries that only grows, in which every change of what was
// written is found.
//
// An entry is one line of JSON: five members that make the frame (protocol, version, sequence, prevHash, contentHash) and the
// payload, which is all the rest. The frame is the agreed one, and its hash covers the payload only: who rewrites a journal
// can compute it anew. So entries written here have two members more, which existing readers take for payload: link, the hash
// of the whole entry before, and a signature of the writer over the payload, that is over the link, too. A journal that was
// linked again, with entries put in, taken out or moved, is found as long as one sealed entry stands behind the place.
//
// Each look at a journal, and each addition, reads all of it: a negotiation has tens of entries. [Journal.Verify] also verifies
// every signature.
//
// The package knows no rule of negotiations: its callers judge who may write what, and bring a [Fold], a summary of entries
// that is brought up to date before each addition, and are asked again when another process was faster. No lock is held
// meanwhile. The place of a journal is the store's concern, and what runs at the same time the caller's: nothing here starts a
// goroutine.
//
// A Journal is safe for concurrent use if its store is.
package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// MaxEntry is the longest line that is written, in bytes.
const MaxEntry = 1 << 20

// tries is how often an addition is judged anew because others were faster. Each time one of them got in, so that it takes
// a thousand writers to starve one.
const tries = 1000

// ErrBusy reports that others were faster each time: the entry was not added and may be tried again.
var ErrBusy = errors.New("the journal is being written by too many at once; try again")

// A Journal reads and writes the journals of one bus, by the ids of their negotiations.
type Journal struct{ log store.Log }

// New returns the journals of a bus.
func New(log store.Log) *Journal { return &Journal{log: log} }

// KeyOf returns where the journal of a negotiation lies.
func KeyOf(id string) (store.Key, error) {
	if err := address.Check(id); err != nil {
		return store.Key{}, err
	}
	return store.Key{Kind: store.Journal, Name: address.Segment(id)}, nil
}

// A Tip is the end of a journal as far as it was read and found good.
type Tip struct {
	Count         int       // of the entries; the next one has this sequence
	Pos           store.Pos // where the last entry ends
	ContentHash   string    // of the last entry, "" when there is none
	EntryHash     string    // of the last entry as a whole
	ID            string    // of the last entry, "" where it is too long for the next one to name it
	CorrelationID string    // likewise
}

// A Fold is what a caller makes of entries, one after the other. It is called by one goroutine at a time.
type Fold interface {
	// Reset makes the fold what it is before the first entry.
	Reset()
	Add(e *Entry)
}

// A Seal is by whom an entry is signed. The zero Seal leaves it unsigned.
type Seal struct {
	By  address.Instance
	Key *signature.Private
}

// Catch brings a fold (nil: none) to the end of a journal and tells where that is. What the fold held before is lost. A journal
// that does not exist is empty. An error that is a *Fault says which entry is the first bad one.
func (j *Journal) Catch(ctx context.Context, id string, f Fold) (tip Tip, err error) {
	if f != nil {
		f.Reset()
	}
	for e, err := range j.Read(ctx, id) {
		if err != nil {
			return Tip{}, err
		}
		tip = e.Tip()
		if f != nil {
			f.Add(e)
		}
	}
	return tip, nil
}

// Append adds one entry. The fold (nil: none) is brought to the end, then payload is called: it judges and returns the payload,
// an object as [Check] wants it, or an error, with which the addition ends. If another process wrote in between, all of that is
// done again, so that each added entry follows what was judged. The fold then has the new entry, too.
func (j *Journal) Append(ctx context.Context, id string, f Fold, seal Seal, payload func(Tip) ([]byte, error)) (*Entry, error) {
	k, err := KeyOf(id)
	for n := 0; err == nil && n < tries; n++ {
		var e *Entry
		if e, err = j.append(ctx, id, k, f, seal, payload); err == nil {
			return e, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
		if err = pause(ctx, n); err == nil && n+1 == tries {
			err = ErrBusy
		}
	}
	return nil, fmt.Errorf("add to the journal of %q: %w", id, err)
}

// pause lets others finish: a writer who has lost often waits longer, at most some 10 ms, so that many do not wake up at once.
func pause(ctx context.Context, n int) error {
	const unit, most = 200 * time.Microsecond, 50
	if n < 2 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(rand.Int64N(int64(unit) * int64(min(n, most)))))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (j *Journal) append(ctx context.Context, id string, k store.Key, f Fold, seal Seal, payload func(Tip) ([]byte, error)) (*Entry, error) {
	tip, err := j.Catch(ctx, id, f)
	if err != nil {
		return nil, err
	}
	raw, err := payload(tip)
	if err != nil {
		return nil, err
	}
	line, err := frame(tip, raw, seal)
	if err != nil {
		return nil, err
	}
	end, err := j.log.Append(ctx, k, tip.Pos, line)
	if err != nil {
		return nil, err
	}
	e, err := parse(line)
	if err != nil {
		return nil, err // never: frame has looked
	}
	e.At, e.Next = tip.Pos, end
	if f != nil {
		f.Add(e)
	}
	return e, nil
}

// Entry reads the one entry that begins at a place that a Tip or an Entry named. Whether the chain is good there is not looked at.
func (j *Journal) Entry(ctx context.Context, id string, at store.Pos) (*Entry, error) {
	k, err := KeyOf(id)
	if err == nil {
		for line, rerr := range j.log.Read(ctx, k, at) {
			var e *Entry
			if err = rerr; err == nil {
				if e, err = parse(line.Data); err == nil {
					e.At, e.Next = line.At, line.Next
					return e, nil
				}
			}
			break
		}
	}
	if err == nil {
		err = store.ErrNotFound
	}
	return nil, fmt.Errorf("read an entry of the journal of %q: %w", id, err)
}
