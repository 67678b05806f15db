package watchdog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// LeaseName is the name of the lease in the store of the process that runs the watchdog on a bus.
const LeaseName = "drumbeat"

// Holder is how a program of this machine holds the lease, for people: "tutti up, process 4711 on anvil".
func Holder(program string) string {
	return fmt.Sprintf("%s, process %d on %s", program, os.Getpid(), proc.Hostname())
}

// keepFor is how long a lease holds without being renewed: two beats may be missed, and half a minute for a machine that is busy.
func (s *Settings) keepFor() time.Duration { return 2*s.Interval + 30*time.Second }

// Run makes beats until ctx is done. One program does so on a bus: a *store.HeldError names the one that does. When the lease is lost, because this
// program was stopped for so long that another one took over, nothing more is done, and the error is store.ErrLost.
func (d *Beats) Run(ctx context.Context, leases store.Leases, holder string) error {
	return d.Hold(ctx, leases, holder, d.Look)
}

// Once is Run for one beat.
func (d *Beats) Once(ctx context.Context, leases store.Leases, holder string) error {
	return d.Hold(ctx, leases, holder, d.Beat)
}

// Hold does something as the one program that asks agents of the bus to go on.
func (d *Beats) Hold(ctx context.Context, leases store.Leases, holder string, do func(context.Context) error) error {
	keep := d.s.keepFor()
	l, err := leases.Acquire(ctx, LeaseName, holder, keep)
	if err != nil {
		return err
	}
	h := &held{leases: leases, lease: l, keep: keep, now: d.o.Now}
	inner, cancel := context.WithCancelCause(ctx)
	var renews sync.WaitGroup
	renews.Go(func() { h.renew(inner, cancel) })
	d.hold = h.check
	err = do(inner)
	cancel(nil)
	renews.Wait()
	h.release(context.WithoutCancel(ctx))
	if cause := context.Cause(inner); errors.Is(cause, store.ErrLost) {
		return cause
	}
	return err
}

// Look makes beats until ctx is done, without a lease: it is for a watchdog without a relauncher, which blocks no other.
func (d *Beats) Look(ctx context.Context) error { return d.beats(ctx) }

func (d *Beats) beats(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if err := d.Beat(ctx); err != nil {
			return err
		}
		timer.Reset(d.s.Interval)
	}
}

// held is a lease in our hands.
type held struct {
	leases store.Leases
	keep   time.Duration
	now    func() time.Time

	mu    sync.Mutex // guards lease; not held while the store is asked
	lease store.Lease
}

// check is asked before each thing that is done: a program that was stopped for a while wakes up in the middle of its work.
func (h *held) check() error {
	h.mu.Lock()
	until := h.lease.Until
	h.mu.Unlock()
	if !h.now().Before(until) {
		return store.ErrLost
	}
	return nil
}

// renew keeps the lease until ctx is done. It is given up when another one has it, or when it could not be renewed in time.
func (h *held) renew(ctx context.Context, lost context.CancelCauseFunc) {
	const times = 3 // within its term
	tick := time.NewTicker(h.keep / times)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		l := h.lease
		h.mu.Unlock()
		longer, err := h.leases.Renew(ctx, l, h.keep)
		switch {
		case err == nil:
			h.mu.Lock()
			h.lease = longer
			h.mu.Unlock()
		case errors.Is(err, store.ErrLost), h.check() != nil:
			lost(store.ErrLost)
			return
		}
	}
}

func (h *held) release(ctx context.Context) {
	const most = time.Second // it ends by itself
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	h.mu.Lock()
	l := h.lease
	h.mu.Unlock()
	_ = h.leases.Release(ctx, l)
}
