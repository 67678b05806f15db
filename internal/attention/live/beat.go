package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// fullEvery is the time between two full looks; a tick that comes a little early does as well. Package follow says why a minute.
const fullEvery = time.Minute

// A clock knows when this process last ticked, and so whether it was asleep. Times are without their monotonic part, which
// stands still while the machine sleeps.
type clock struct {
	mu     sync.Mutex // guards what follows; a leaf
	last   time.Time
	full   time.Time // the last tick that asked for a full look
	every  time.Duration
	asleep bool      // there was a gap, less than a heartbeat ago
	woke   time.Time // the tick after it
}

// tick notes a tick and tells whether it is time for a full look: at the first tick after a gap, at the one that ends its
// grace, and once a minute.
func (c *clock) tick(now time.Time, every time.Duration) (gap, full bool) {
	now = now.Round(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() {
		c.last, c.full, c.every = now, now, every
		return false, false
	}
	was := c.asleep
	gap = c.gap(now)
	switch {
	case gap:
		c.asleep, c.woke = true, now
	case now.Sub(c.woke) >= every: // the tick after the first one comes at once, and others may be slower to wake
		c.asleep = false
	}
	c.last = now
	full = was || gap || now.Sub(c.full) > fullEvery-every/2
	if full {
		c.full = now
	}
	return gap, full
}

// gap tells whether a tick is overdue by so much that the process cannot have been running, or the clock was set.
func (c *clock) gap(now time.Time) bool {
	since := now.Sub(c.last)
	return since > 2*c.every || since < -c.every
}

// grace reports whether no peer may be called absent: this process was asleep until a moment ago, or is about to find out.
func (c *clock) grace(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asleep || c.gap(now.Round(0))
}

// keep is the goroutine that serves all sessions: it ticks, and passes on what concerns the halt switch.
func (a *Attendance) keep() {
	tick := time.NewTicker(a.o.Heartbeat)
	defer tick.Stop()
	look := a.o.Switch.Look
	for {
		select {
		case <-a.end.Done():
			return
		case <-tick.C:
			a.beatAll()
		case _, ok := <-look:
			if !ok {
				look = nil
			}
			for _, h := range a.all() {
				poke(h.look)
			}
		}
	}
}

// poke leaves a signal unless one is there.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// beatAll says of all sessions that they are there, and then asks for a full look when it is time for one.
func (a *Attendance) beatAll() {
	_, full := a.clock.tick(a.o.Now(), a.o.Heartbeat)
	for _, h := range a.all() {
		h.beat()
	}
	if full {
		for _, h := range a.all() {
			poke(h.full)
		}
	}
}

// beat writes the heartbeat of a session.
func (h *held) beat() {
	h.writing.Lock()
	defer h.writing.Unlock()
	s := h.session()
	if h.ended || s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(h.a.end, h.a.o.Heartbeat)
	defer cancel()
	if err := h.a.o.Standing(ctx, s.Instance); errors.Is(err, registry.ErrGone) {
		h.leave(ctx, s, err)
		return
	}
	said := h.active.Load()
	var c presence.Change
	if said != 0 {
		c.MCPActivityAt = time.Unix(0, said)
	}
	h.mu.Lock()
	c.Extra = maps.Clone(h.extra)
	h.mu.Unlock()
	next, err := h.a.o.Presence.Patch(ctx, s, c, h.a.o.Now())
	switch {
	case errors.Is(err, presence.ErrClosed), err == nil && next.State == presence.StateExpired:
		h.leave(ctx, s, errors.New("another process closed it"))
	case errors.Is(err, presence.ErrTaken):
		h.a.endOf(h)
		h.a.o.Log(fmt.Sprintf("session %s is over: its name belongs to another agent now", h.id))
	case err != nil && h.a.end.Err() == nil:
		h.fail(fmt.Sprintf("session %s could not say that it is there: %v", h.id, err))
	case err == nil:
		h.failing = ""
		h.active.CompareAndSwap(said, 0)
		h.setSession(next)
	}
}

// leave ends a session that is not to go on, and takes its record away. h.writing is held.
func (h *held) leave(ctx context.Context, s *presence.Session, why error) {
	h.a.endOf(h)
	h.a.o.Log(fmt.Sprintf("session %s is over: %v", h.id, why))
	if err := h.a.o.Presence.Close(ctx, s); err != nil {
		h.a.o.Log(fmt.Sprintf("the record of session %s stays until it is swept: %v", h.id, err))
	}
}

// fail logs a failure of the heartbeat, once as long as it stays the same. h.writing is held.
func (h *held) fail(line string) {
	if h.failing != line {
		h.failing = line
		h.a.o.Log(line)
	}
}

// Engage says that the user of an agent has let it go on: pushes to its sessions go on with what is new from now on. While
// the switch is on it does nothing. It reports whether a session had been stopped.
func (a *Attendance) Engage(i address.Instance) (stopped bool) {
	if a.o.Switch.Read().Halted {
		return false
	}
	epoch := a.o.Epoch()
	for _, h := range a.all() {
		s := h.session()
		if s == nil || s.Instance.Canonical() != i.Canonical() || !h.isStopped() && h.epoch.Load() == epoch {
			continue
		}
		h.epoch.Store(epoch)
		h.engaged.Add(1)
		// The step is about the session, not about one of its messages, so it is recorded under the session's id.
		a.notes.add(s.Instance, mailbox.Mark{
			ID: string(h.id), Step: mailbox.Engaged, At: a.o.Now(), By: string(s.Instance), Session: string(h.id),
		})
		stopped = true
	}
	return stopped
}
