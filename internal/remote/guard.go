package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/store"
)

// keepMarkers is how long a marker is kept: longer than what it marks can be fresh, also when the clock is set back by some minutes.
const keepMarkers = 3 * (MaxAge + MaxSkew)

// A Guard knows what was taken before, in a store, so that a restart forgets nothing. Of each thing it keeps a marker until that
// is no longer fresh. It is safe for concurrent use.
type Guard struct {
	Docs store.Docs
	Kind store.Kind // store.RemoteReplay or store.DriveReplay

	mu   sync.Mutex
	busy map[string]chan struct{} // names of markers, while it is decided what becomes of the thing
}

// A Claim is one thing whose fate is being decided. Nobody else decides on it meanwhile.
type Claim struct {
	g    *Guard
	name string
	data []byte
}

// Name is the name of the marker of an envelope. It is made of the signer, too: nobody can use up the ids of another.
func Name(signer address.Instance, id string) string {
	sum := sha256.Sum256([]byte(string(signer.Canonical()) + "\n" + id))
	return hex.EncodeToString(sum[:20])
}

// Claim waits until nobody else decides on the thing, and tells whether it was taken before. It has to be ended.
func (g *Guard) Claim(ctx context.Context, name, id, createdAt string) (c *Claim, seen bool, err error) {
	for other := g.occupy(name); other != nil; other = g.occupy(name) {
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	return g.claimed(ctx, name, id, createdAt)
}

// TryClaim is Claim for who does not wait: free is false, and there is no claim, while somebody else decides on the thing.
func (g *Guard) TryClaim(ctx context.Context, name, id, createdAt string) (c *Claim, seen, free bool, err error) {
	if g.occupy(name) != nil {
		return nil, false, false, nil
	}
	c, seen, err = g.claimed(ctx, name, id, createdAt)
	return c, seen, true, err
}

// occupy takes a name for who decides next; where somebody is at it already, it returns what is closed when that one has ended.
func (g *Guard) occupy(name string) (other <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other, busy := g.busy[name]; busy {
		return other
	}
	if g.busy == nil {
		g.busy = map[string]chan struct{}{}
	}
	g.busy[name] = make(chan struct{})
	return nil
}

// claimed is the claim on a name that was occupied.
func (g *Guard) claimed(ctx context.Context, name, id, createdAt string) (c *Claim, seen bool, err error) {
	c = &Claim{g: g, name: name, data: marker(id, createdAt)}
	if err := c.key().Check(); err != nil {
		c.End()
		return nil, false, err
	}
	_, err = g.Docs.Get(ctx, c.key())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return c, false, nil
	case err == nil, errors.As(err, new(*store.UnfitError)): // whatever lies under that name, it was not there for nothing
		return c, true, nil
	}
	c.End()
	return nil, false, fmt.Errorf("look whether %s was taken before: %w", id, err)
}

// marker is what a marker says: until when it is needed, and of what it is where it is of one thing alone.
func marker(id, createdAt string) []byte {
	var o canonjson.Object
	o.Opt("id", id)
	o.Str("createdAt", createdAt)
	return append(o.Bytes(), '\n')
}

func (c *Claim) key() store.Key { return store.Key{Kind: c.g.Kind, Name: c.name} }

// Take marks the thing as taken, durably; false: somebody else has done it meanwhile, in another process.
func (c *Claim) Take(ctx context.Context) (bool, error) { return take(ctx, c.g.Docs, c) }

func take(ctx context.Context, w store.Writer, c *Claim) (bool, error) {
	_, err := w.Create(ctx, c.key(), c.data)
	if errors.Is(err, store.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// takeAll marks many things at the price of few, durably, those that nobody has marked meanwhile. It says of each what went wrong.
func (g *Guard) takeAll(ctx context.Context, all []*Claim) []error {
	errs := make([]error, len(all))
	if b, ok := g.Docs.(store.Batcher); ok && len(all) > 1 {
		err := b.Batch(ctx, func(w store.Writer) error {
			for _, c := range all {
				if _, err := take(ctx, w, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			return errs
		}
	}
	for i, c := range all { // of a batch that failed nobody knows which of them are marked
		_, errs[i] = c.Take(ctx)
	}
	return errs
}

// drop takes back a marker of this claim that was left by a batch which failed in its middle: what was not delivered is not taken.
func (c *Claim) drop(ctx context.Context) {
	if d, err := c.g.Docs.Get(ctx, c.key()); err == nil && bytes.Equal(d.Data, c.data) {
		_ = c.g.Docs.Delete(ctx, c.key(), d.Rev) // what stays is swept
	}
}

// End lets others decide.
func (c *Claim) End() {
	c.g.mu.Lock()
	done := c.g.busy[c.name]
	delete(c.g.busy, c.name)
	c.g.mu.Unlock()
	if done != nil {
		close(done)
	}
}

// Sweep removes markers of what is no longer fresh, at most so many, and says how many it has removed.
func (g *Guard) Sweep(ctx context.Context, most int, now time.Time) (gone int, err error) {
	var old []string
	for e, err := range g.Docs.List(ctx, g.Kind, "") {
		if errors.As(err, new(*store.UnfitError)) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if len(old) < most && now.Sub(e.Stored) > keepMarkers {
			old = append(old, e.Key.Name)
		}
	}
	ended := func(d store.Doc) bool { return stale(d.Data, now) }
	if d, ok := g.Docs.(store.Discarder); ok {
		return d.Discard(ctx, g.Kind, old, ended) // a marker that comes back after a power cut is swept again
	}
	for _, name := range old {
		d, err := g.Docs.Get(ctx, store.Key{Kind: g.Kind, Name: name})
		if err == nil && ended(d) {
			err = g.Docs.Delete(ctx, d.Key, d.Rev)
			if err == nil {
				gone++
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.As(err, new(*store.UnfitError)) {
			return gone, err
		}
	}
	return gone, nil
}

// stale tells whether what a marker is of is no longer fresh. One that does not say goes by when it was stored.
func stale(marker []byte, now time.Time) bool {
	at, _ := canonjson.Get(marker, "createdAt")
	text, _ := canonjson.String(at)
	made, ok := envelope.ParseTime(text)
	return !ok || now.Sub(made) > MaxAge+MaxSkew
}

// sweepEvery is how often markers are swept, and sweepMost how many of their names are held at a time.
const (
	sweepEvery = time.Minute
	sweepMost  = 20_000
)

// KeepSwept sweeps until the context ends. What goes wrong is told, and tried again.
func (g *Guard) KeepSwept(ctx context.Context, now func() time.Time, tell func(line string)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		gone, err := sweepMost, error(nil)
		for gone == sweepMost && err == nil {
			gone, err = g.Sweep(ctx, sweepMost, now())
		}
		if err != nil && ctx.Err() == nil && tell != nil {
			tell("old markers were not removed: " + err.Error())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
