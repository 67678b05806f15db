package remote

import (
	"container/list"
	"net/http"
	"sync"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/remote/listen"
)

// What one signer may send by default. A signer that goes on all day at this rate fills 3 GiB, which is noticed; an agent that
// talks sends a message every few seconds.
const (
	DefaultRate = 20.0 // a second, in the long run

	burstFor   = 5 * time.Second // as many may come at once as in that time
	bytesEach  = 2 << 10         // bytes for each, in the long run
	burstBytes = 8 << 20         // bytes that may come at once
	maxSigners = 4096            // of whom it is remembered; they are known agents, and few are at it at a time
)

// Rates bound what one signer may do, so that an agent that runs wild, or whose key was stolen, hinders only itself. It is
// asked when a signature was verified, so no agent can use up the share of another. It is safe for concurrent use.
type Rates struct {
	PerSecond float64 // of one signer; 0: DefaultRate

	mu   sync.Mutex // guards what follows
	all  map[address.Instance]*list.Element
	idle list.List // of *share, longest silent first
}

// A share is what a signer has left.
type share struct {
	of           address.Instance
	count, bytes float64
	at           time.Time
}

// TooMany is the answer to a signer who has used up its share.
func TooMany(wait time.Duration) listen.Answer {
	a := listen.Error(http.StatusTooManyRequests, "rate-limited")
	a.Retry = wait
	return a
}

// Take takes one thing of n bytes from the share of a signer; where that is used up it says how long to wait.
func (r *Rates) Take(signer address.Instance, n int, now time.Time) (wait time.Duration, ok bool) {
	rate, most := r.each()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.share(signer.Canonical(), most, now)
	s.fill(rate, most, now)
	if s.count < 1 || s.bytes < 0 {
		short := max((1-s.count)/rate, -s.bytes/(rate*bytesEach))
		return time.Duration(short * float64(time.Second)), false
	}
	s.count--
	s.bytes -= float64(n)
	return 0, true
}

// Give gives back what Take took, if the message was not taken: an eavesdropper can replay a message that is not taken here as
// often as it likes, and uses up no agent's share.
func (r *Rates) Give(signer address.Instance, n int) {
	_, most := r.each()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.all[signer.Canonical()]; e != nil {
		s := e.Value.(*share)
		s.count = min(most, s.count+1)
		s.bytes = min(burstBytes, s.bytes+float64(n))
	}
}

// each is what one signer may send a second in the long run, and how many at once.
func (r *Rates) each() (rate, most float64) {
	if rate = r.PerSecond; rate <= 0 {
		rate = DefaultRate
	}
	return rate, max(1, rate*burstFor.Seconds())
}

// share finds the share of a signer. When there are as many as are remembered, a new signer gets that of the one who has been silent
// longest, with what is missing of it: it is as good as whole where that one was silent for a while, and who comes under ever new names
// does not begin anew with each.
func (r *Rates) share(signer address.Instance, most float64, now time.Time) *share {
	if e := r.all[signer]; e != nil {
		r.idle.MoveToBack(e)
		return e.Value.(*share)
	}
	if r.all == nil {
		r.all = map[address.Instance]*list.Element{}
	}
	var e *list.Element
	if len(r.all) < maxSigners {
		e = r.idle.PushBack(&share{count: most, bytes: burstBytes, at: now})
	} else {
		e = r.idle.Front()
		r.idle.MoveToBack(e)
		delete(r.all, e.Value.(*share).of)
	}
	s := e.Value.(*share)
	s.of, r.all[signer] = signer, e
	return s
}

func (s *share) fill(rate, most float64, now time.Time) {
	if passed := now.Sub(s.at).Seconds(); passed > 0 {
		s.count = min(most, s.count+passed*rate)
		s.bytes = min(burstBytes, s.bytes+passed*rate*bytesEach)
	}
	s.at = now
}
