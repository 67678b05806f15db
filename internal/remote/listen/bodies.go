package listen

import (
	"sync"
	"time"
)

// bodies is the room that all bodies of a door share. When it is full, those that are still arriving make way, the one that began
// first before the others: it has dawdled longest. Bodies that have arrived stay until their request is answered.
type bodies struct {
	most int64 // bytes

	mu       sync.Mutex // guards what follows and the holders
	held     int64
	arriving map[*holder]struct{}
}

// A holder is what one body takes of the room.
type holder struct {
	n     int64
	since time.Time
	wake  func() // has a read that waits for more of the body return
	out   bool   // it had to make way
}

// begin puts a body on record that is about to arrive.
func (b *bodies) begin(wake func()) *holder {
	h := &holder{since: time.Now(), wake: wake}
	b.mu.Lock()
	b.arriving[h] = struct{}{}
	b.mu.Unlock()
	return h
}

// grow makes room for n bytes of a body. It tells whether there is any.
func (b *bodies) grow(h *holder, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.out {
		return false
	}
	for b.held+n-h.n > b.most {
		last := b.last()
		if last == nil {
			return false
		}
		b.putOut(last)
		if last == h {
			return false
		}
	}
	b.held += n - h.n
	h.n = n
	return true
}

// last is the body that began first of those that arrive and hold anything.
func (b *bodies) last() *holder {
	var last *holder
	for h := range b.arriving {
		if h.n > 0 && (last == nil || h.since.Before(last.since)) {
			last = h
		}
	}
	return last
}

// putOut takes a body out of the room. Its reader lets go of the bytes as soon as it is awake.
func (b *bodies) putOut(h *holder) {
	h.out = true
	b.held -= h.n
	h.n = 0
	delete(b.arriving, h)
	h.wake()
}

// arrived takes a body out of the way of others. It tells whether it still is in the room.
func (b *bodies) arrived(h *holder) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.arriving, h)
	return !h.out
}

// drop gives back what a body took.
func (b *bodies) drop(h *holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.arriving, h)
	b.held -= h.n
	h.n = 0
}
