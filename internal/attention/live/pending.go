package live

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// A held is one session of this process.
type held struct {
	a       *Attendance
	id      address.SessionID
	stop    context.CancelFunc // ends its pushes
	done    chan struct{}      // closed when they have ended
	began   time.Time          // when its opening began
	epoch   atomic.Uint64      // count of halts at which its user last let it go on
	engaged atomic.Uint64      // how often its user has let it go on
	stopped atomic.Uint64      // one more than engaged was when the switch was last looked at and found on
	full    chan struct{}      // asks for a full look
	look    chan struct{}      // says that the halt switch may have changed
	deals   chan struct{}      // says that a journal has grown

	writing sync.Mutex   // held while its record is written, so that no heartbeat makes it again behind Close
	ended   bool         // guarded by writing
	failing string       // guarded by writing: what was logged of heartbeats since the last good one
	active  atomic.Int64 // ns: last sign of life of the agent that its record does not have; 0: none

	hurried atomic.Bool // another process is about to write its record

	mu    sync.Mutex // guards what follows; a leaf
	own   *presence.Session
	extra map[string][]byte // members that were set after it was opened
}

func (h *held) session() *presence.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own
}

func (h *held) setSession(s *presence.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own = s
}

// reserve takes a place for a session, which has no record yet.
func (a *Attendance) reserve(id address.SessionID) (*held, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.left:
		return nil, ErrLeft
	case slices.ContainsFunc(a.held, func(h *held) bool { return h.id == id }):
		return nil, ErrHeld
	case len(a.held) >= MaxSessions:
		return nil, ErrFull
	}
	h := &held{a: a, id: id, began: a.o.Now(), stop: func() {}, done: make(chan struct{}), full: make(chan struct{}, 1), deals: make(chan struct{}, 1)}
	if a.o.Switch.Look != nil {
		h.look = make(chan struct{}, 1)
	}
	a.held = append(a.held, h)
	return h, nil
}

func (a *Attendance) forget(h *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = slices.DeleteFunc(a.held, func(other *held) bool { return other == h })
}

// endOf ends the heartbeat and the pushes of a session. h.writing is held.
func (a *Attendance) endOf(h *held) {
	h.ended = true
	h.stop()
	a.forget(h)
}

// find returns a session that is open, nil when this process has none of that id.
func (a *Attendance) find(id address.SessionID) *held {
	for _, h := range a.all() {
		if h.id == id && h.session() != nil {
			return h
		}
	}
	return nil
}

func (a *Attendance) all() []*held {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.held)
}

// clockStep is how far the time of a file may lie behind the clock: that of file systems advances in steps of 1 to 10 ms.
const clockStep = 10 * time.Millisecond

// cameSince reports whether a message came after the opening of the session began. Its sender may have seen the session
// already, with a receipt that says live.
func (h *held) cameSince(m *mailbox.Message) bool { return !m.Stored.Before(h.began.Add(-clockStep)) }
