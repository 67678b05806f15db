package remote

import (
	"net/http"
	"sync"
	"time"

	"tutti/internal/address"
	"tutti/internal/remote/door"
)

// What one signer may send when nobody says otherwise. A signer that goes on all day at this rate fills 3 GiB, which is noticed; an
// agent that talks sends a message every few seconds.
const (
	DefaultRate = 20.0 // a second, in the long run

	burstFor   = 5 * time.Second // as many may come at once as in that time
	bytesEach  = 2 << 10         // bytes for each, in the long run
	burstBytes = 8 << 20         // bytes that may come at once
	refilled   = 5 * time.Minute // after which nothing is missing of a share
	maxSigners = 4096            // of whom it is remembered; they are known agents, and few are at it at a time
)

// Rates bound what one signer may do, so that an agent that runs wild, or whose key was stolen, hinders nobody but itself. It is asked
// when a signature was verified: nobody can use up the share of another. It is safe for concurrent use.
type Rates struct {
	PerSecond float64 // of one signer; 0: DefaultRate

	mu  sync.Mutex
	all map[address.Instance]*share
}

// A share is what a signer has left.
type share struct {
	count, bytes float64
	at           time.Time
}

// TooMany is the answer to a signer who has used up its share.
func TooMany(wait time.Duration) door.Answer {
	a := door.Error(http.StatusTooManyRequests, "rate-limited")
	a.Retry = wait
	return a
}

// Take takes one thing of n bytes from the share of a signer; where that is used up it says how long to wait.
func (r *Rates) Take(signer address.Instance, n int, now time.Time) (wait time.Duration, ok bool) {
	rate := r.PerSecond
	if rate <= 0 {
		rate = DefaultRate
	}
	most := max(1, rate*burstFor.Seconds())
	signer = signer.Canonical()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.all[signer]
	if s == nil {
		if r.all == nil {
			r.all = map[address.Instance]*share{}
		}
		if len(r.all) >= maxSigners {
			r.forget(now)
		}
		s = &share{count: most, bytes: burstBytes, at: now}
		r.all[signer] = s
	}
	s.fill(rate, most, now)
	if s.count < 1 || s.bytes < 0 {
		short := max((1-s.count)/rate, -s.bytes/(rate*bytesEach))
		return time.Duration(short * float64(time.Second)), false
	}
	s.count--
	s.bytes -= float64(n)
	return 0, true
}

func (s *share) fill(rate, most float64, now time.Time) {
	if passed := now.Sub(s.at).Seconds(); passed > 0 {
		s.count = min(most, s.count+passed*rate)
		s.bytes = min(burstBytes, s.bytes+passed*rate*bytesEach)
	}
	s.at = now
}

// forget forgets those who have been silent long enough to have their whole share again; where there are none, whoever comes first.
func (r *Rates) forget(now time.Time) {
	for who, s := range r.all {
		if now.Sub(s.at) > refilled {
			delete(r.all, who)
		}
	}
	for who := range r.all {
		if len(r.all) < maxSigners {
			return
		}
		delete(r.all, who)
	}
}
