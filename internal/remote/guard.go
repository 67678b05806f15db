package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// keepTaken is how long it is kept that a thing was taken: longer than that can be fresh, also when the clock is set back by some minutes.
const keepTaken = 3 * (MaxAge + MaxSkew)

// A Thing is what is taken once: an envelope, or an instruction.
type Thing struct {
	Name      string // of its own, and a path segment
	ID        string // by which people know it
	CreatedAt string // as it says itself, under its signature
}

// A Memory keeps what was taken, in a store, so that a restart forgets nothing. It is safe for concurrent use.
type Memory interface {
	// Known tells whether a thing is known as taken without a look at the store. What is not may have been taken all the same.
	Known(t Thing) bool
	// Seen tells of each thing whether it was taken, by this process or another one: then its error is ErrTaken. It is nil where it was
	// not, and another one where that is not known.
	Seen(ctx context.Context, all ...Thing) []error
	// Keep remembers things, durably when it returns nil. Where it can tell that another process has taken one of them meanwhile it is
	// store.ErrExists.
	Keep(ctx context.Context, all ...Thing) error
	// Sweep forgets what is no longer fresh, as many at a time as the memory takes in hand, and says how many.
	Sweep(ctx context.Context, most int, now time.Time) (gone int, err error)
}

// ErrTaken is what Seen says of a thing that was taken.
var ErrTaken = errors.New("was taken before")

// A Guard has one at a time decide what becomes of a thing, and those who come later know it. It is safe for concurrent use.
type Guard struct {
	Memory

	mu   sync.Mutex
	busy map[string]chan struct{} // names of things, while it is decided what becomes of them
}

// A Claim is one thing whose fate is being decided. No one else decides on it meanwhile.
type Claim struct {
	g     *Guard
	thing Thing
}

// Name is the name of an envelope as a thing. It is made of the signer, too, so that no agent can use up the ids of another.
func Name(signer address.Instance, id string) string {
	sum := sha256.Sum256([]byte(string(signer.Canonical()) + "\n" + id))
	return hex.EncodeToString(sum[:20])
}

// Claim waits until no one else decides on the thing, and reports whether it was taken before.
func (g *Guard) Claim(ctx context.Context, t Thing) (c *Claim, seen bool, err error) {
	if c, err = g.Hold(ctx, t); err != nil {
		return nil, false, err
	}
	return c.look(ctx)
}

// Hold is Claim for callers that ask the memory later, about many things at once.
func (g *Guard) Hold(ctx context.Context, t Thing) (*Claim, error) {
	for other := g.occupy(t.Name); other != nil; other = g.occupy(t.Name) {
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return &Claim{g: g, thing: t}, nil
}

// TryClaim is Claim for callers that do not wait: free is false, and there is no claim, while another goroutine decides on the
// thing.
func (g *Guard) TryClaim(ctx context.Context, t Thing) (c *Claim, seen, free bool, err error) {
	if g.occupy(t.Name) != nil {
		return nil, false, false, nil
	}
	c, seen, err = (&Claim{g: g, thing: t}).look(ctx)
	return c, seen, true, err
}

// occupy takes a name for the next decider; if it is taken already, it returns the channel that is closed when the current one
// has ended.
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

// look reports whether the thing was taken before. If that is unknown there is no claim.
func (c *Claim) look(ctx context.Context) (*Claim, bool, error) {
	switch err := c.g.Seen(ctx, c.thing)[0]; {
	case err == nil:
		return c, false, nil
	case errors.Is(err, ErrTaken):
		return c, true, nil
	default:
		c.End()
		return nil, false, fmt.Errorf("look whether %s was taken before: %w", c.thing.ID, err)
	}
}

// Take remembers that the thing was taken, durably; false: another process has taken it meanwhile.
func (c *Claim) Take(ctx context.Context) (bool, error) {
	err := c.g.Keep(ctx, c.thing)
	if errors.Is(err, store.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// End lets others decide.
func (c *Claim) End() {
	c.g.mu.Lock()
	done := c.g.busy[c.thing.Name]
	delete(c.g.busy, c.thing.Name)
	c.g.mu.Unlock()
	if done != nil {
		close(done)
	}
}

// sweepEvery is how often a memory is swept, and sweepMost how much it takes in hand at a time.
const (
	sweepEvery = time.Minute
	sweepMost  = 20_000
)

// KeepSwept sweeps until the context ends. Errors are reported, and it tries again.
func (g *Guard) KeepSwept(ctx context.Context, now func() time.Time, tell func(line string)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		gone, err := sweepMost, error(nil)
		for gone == sweepMost && err == nil {
			gone, err = g.Sweep(ctx, sweepMost, now())
		}
		if err != nil && ctx.Err() == nil && tell != nil {
			tell("what was taken long ago was not forgotten: " + err.Error())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
