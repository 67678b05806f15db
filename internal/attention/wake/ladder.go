package wake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mailbox"
)

// An Attempt is the result of a rung.
type Attempt struct {
	Did    bool   // something was done, which is recorded
	Counts bool   // the agent can be expected to look: the next rung has time
	Later  bool   // it could not be done now, and may be possible in a while
	Detail string // a few words for the record, "" for none
	Err    error  // it was tried and did not work
}

// A Rung is one means to make an agent look.
type Rung struct {
	Name string // as in the record
	Try  func(context.Context) Attempt
}

// LadderOptions say whom a ladder leads to. Unread, May and Note are needed.
type LadderOptions struct {
	Rungs []Rung // the mildest first
	Times Times
	// Unread returns the ids of the messages that no reader was shown or is about to be shown. Readers may die on the way;
	// again is when the first such message becomes free; zero: there is none.
	Unread func(context.Context) (ids []string, again time.Time, err error)
	// May tells whether the agent may be knocked: nothing is halted, and its user has let it go on after the last halt.
	May func() bool
	// Mine tells whether of several sessions of the agent this is the one to be woken. Nil: it is.
	Mine func(context.Context) bool
	// Ended tells whether the agent has ended its turn after its last event, which was at since, as far as that can be seen
	// without one. Nil: it cannot.
	Ended func(since time.Time) bool
	// Note puts a step on record. The ladder sets ID, Step, At and Result.
	Note func(mailbox.Mark)
	Log  func(string)
}

// A Ladder knocks at one agent. Its functions do not block, and are safe for concurrent use. Nothing of it wakes up while no mail
// waits.
type Ladder struct {
	o    LadderOptions
	kick chan struct{}

	mu     sync.Mutex // guards what follows; a leaf
	mail   time.Time  // when the first message came that no knock was about, or will be free; zero: none waits
	came   uint64     // how many messages came
	doing  driver.Doing
	since  time.Time               // when that was heard, or the agent last did anything
	called int                     // calls of tools in hand
	looked bool                    // the agent has looked since the last knock
	reset  bool                    // what is under way is to be forgotten
	stop   context.CancelCauseFunc // ends the rung that is tried; nil: none is

	// What follows belongs to the goroutine of Run.
	seen    uint64          // what came was when it was last asked for
	about   []string        // messages of the climb that is under way
	done    []bool          // rungs that were climbed for these
	told    map[string]bool // messages that were reason for a knock, of those that are unread
	knocked time.Time       // the last knock, as long as it is not answered; zero: none is out
	rests   time.Time       // not before: nothing was answered, or asking failed
	later   int             // how often in a row there was a rung that could not be climbed yet
}

// NewLadder returns a ladder at which nothing happens before Run.
func NewLadder(o LadderOptions) *Ladder {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return &Ladder{o: o, kick: make(chan struct{}, 1), told: map[string]bool{}, since: time.Now()}
}

// Mail says that a message came.
func (l *Ladder) Mail() {
	l.change(func() {
		l.came++
		if now := time.Now(); l.mail.IsZero() || l.mail.After(now) {
			l.mail = now
		}
	})
}

// Heard says that the program of the agent told of an event.
func (l *Ladder) Heard(m driver.Moment) {
	l.change(func() {
		l.since = time.Now()
		switch m {
		case driver.Start, driver.Stop:
			l.doing = driver.Idle
		case driver.Prompt, driver.Tool:
			l.doing, l.looked = driver.Busy, true
		}
	})
}

// Waits says that a hook has begun to wait: what could not be done before may be possible now. It comes at the same events as
// the hooks that say what the agent does, in any order, and counts only where none of those was heard.
func (l *Ladder) Waits() {
	l.change(func() {
		if l.doing == driver.Unknown {
			l.doing = driver.Idle
		}
	})
}

// Called says that the agent calls a tool; done says that it has the answer.
func (l *Ladder) Called() (done func()) {
	l.change(func() {
		l.called++
		l.call()
	})
	return sync.OnceFunc(func() {
		l.change(func() {
			l.called--
			l.call()
		})
	})
}

// call notes that the agent works. Where hooks tell what it does, one will tell when it stops.
func (l *Ladder) call() {
	l.since, l.looked = time.Now(), true
	if l.doing == driver.Idle {
		l.doing = driver.Busy
	}
}

var errHalted = errors.New("halted meanwhile")

// Halt ends what is being done, and forgets what waits: when the agent is let go on it is shown its mail anyway.
func (l *Ladder) Halt() {
	l.change(func() {
		l.mail, l.reset, l.looked = time.Time{}, true, false
		if l.stop != nil {
			l.stop(errHalted)
		}
	})
}

func (l *Ladder) change(f func()) {
	l.mu.Lock()
	f()
	l.mu.Unlock()
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// Run climbs until ctx is done.
func (l *Ladder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		stop := func() bool { return false }
		if wait, some := l.step(ctx); some {
			t := time.NewTimer(wait)
			due, stop = t.C, t.Stop
		}
		select {
		case <-ctx.Done():
		case <-l.kick:
		case <-due:
		}
		stop()
	}
}

// step does what is due, and says when to come back; some is false when nothing is, before something happens.
func (l *Ladder) step(ctx context.Context) (wait time.Duration, some bool) {
	at, busy, some := l.due()
	if !some {
		return 0, false
	}
	if wait = time.Until(at); wait > 0 {
		return wait, true
	}
	if !busy.IsZero() && !l.ended(busy) {
		return l.o.Times.Peek, true
	}
	if !l.o.May() {
		l.Halt()
		return 0, true
	}
	unread, again, err := l.o.Unread(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log(fmt.Sprintf("no agent is woken for a while: %v", err))
		}
		l.rests = time.Now().Add(l.o.Times.Climb)
		return l.o.Times.Climb, true
	}
	l.trim(unread)
	if len(unread) == 0 || l.o.Mine != nil && !l.o.Mine(ctx) {
		l.rest(again)
		return 0, true
	}
	return l.climb(ctx, unread, again)
}

// ended tells whether the agent has ended its turn since its last event, and notes that.
func (l *Ladder) ended(since time.Time) bool {
	if !l.o.Ended(since) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.since.Equal(since) {
		return false // it goes on
	}
	l.doing = driver.Idle
	return true
}

// due tells when there is something to do. busy is when the last event of an agent was that is to be looked at first; zero: it
// does not matter.
func (l *Ladder) due() (at, busy time.Time, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reset || l.looked { // the knock that was out counts for nothing any more, or is answered
		l.forget()
		if l.looked {
			l.rests = time.Time{}
		}
		l.reset, l.looked = false, false
	}
	l.seen = l.came
	if !l.knocked.IsZero() {
		return l.knocked.Add(l.o.Times.Climb), busy, true
	}
	if l.mail.IsZero() || l.called > 0 {
		return at, busy, false
	}
	at = l.mail.Add(l.o.Times.Gather)
	switch l.doing {
	case driver.Busy:
		over := l.since.Add(l.o.Times.Busy)
		if l.o.Ended == nil || !time.Now().Before(over) {
			at = latest(at, over)
			break
		}
		at, busy = latest(at, l.since.Add(l.o.Times.Peek)), l.since
	case driver.Unknown:
		at = latest(at, l.since.Add(l.o.Times.Quiet))
	}
	return latest(at, l.rests), busy, true
}

func latest(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// forget ends a climb. What it was about is reason for no other if there was a knock.
func (l *Ladder) forget() {
	l.about, l.done, l.knocked, l.later = nil, nil, time.Time{}, 0
}

// rest waits for the next message, or until one is free that is not now; zero: there is none.
func (l *Ladder) rest(again time.Time) {
	l.forget()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == l.came { // one that came while the mailbox was read is not among those
		l.mail = again
	}
}

// trim forgets the messages that are not unread any more.
func (l *Ladder) trim(unread []string) {
	is := make(map[string]bool, len(unread))
	for _, id := range unread {
		is[id] = true
	}
	maps.DeleteFunc(l.told, func(id string, _ bool) bool { return !is[id] })
	l.about = slices.DeleteFunc(l.about, func(id string) bool { return !is[id] })
}

// maxLater is how often it is tried anew where a rung could not be climbed yet.
const maxLater = 10

// climb tries the rungs that were not climbed, until one gives hope.
func (l *Ladder) climb(ctx context.Context, unread []string, again time.Time) (wait time.Duration, some bool) {
	if len(l.about) == 0 { // what there was a knock about is read
		l.forget()
		if !slices.ContainsFunc(unread, func(id string) bool { return !l.told[id] }) {
			l.rest(again)
			return 0, true
		}
		l.done = make([]bool, len(l.o.Rungs))
	}
	l.about = unread
	later := false
	for n, r := range l.o.Rungs {
		if l.done[n] {
			continue
		}
		if ctx.Err() != nil || !l.o.May() || l.answered() {
			return 0, true
		}
		a := l.try(ctx, r)
		later = later || a.Later
		l.done[n] = (a.Did || a.Err != nil) && !a.Later
		l.note(ctx, r, a)
		if a.Did && a.Counts && a.Err == nil {
			l.knocked, l.later = time.Now(), 0
			for _, id := range unread {
				l.told[id] = true
			}
			return l.o.Times.Climb, true
		}
	}
	return l.top(later, again)
}

// try climbs one rung, unless everything is halted meanwhile.
func (l *Ladder) try(ctx context.Context, r Rung) Attempt {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.mu.Lock()
	l.stop = stop
	if l.reset {
		stop(errHalted)
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.stop = nil
		l.mu.Unlock()
	}()
	return r.Try(ctx)
}

// answered tells whether the agent has looked, or is not to be knocked, while a rung was tried.
func (l *Ladder) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looked || l.reset
}

// top is where no rung is left that could be climbed now.
func (l *Ladder) top(later bool, again time.Time) (wait time.Duration, some bool) {
	l.later++
	switch {
	case later && l.later <= maxLater:
		wait = l.o.Times.Climb
		if !l.knocked.IsZero() {
			l.knocked = time.Now()
		}
		l.rests = time.Now().Add(wait)
		return wait, true
	case !l.knocked.IsZero() || later:
		l.rests = time.Now().Add(l.o.Times.Again)
		for _, id := range l.about {
			l.told[id] = true
		}
		l.rest(again)
		return 0, true
	}
	return 0, false // nothing can be done, until something happens
}

// maxNoted is of how many messages a knock stands in the trail: of the newest ones.
const maxNoted = 100

// note puts an attempt on record.
func (l *Ladder) note(ctx context.Context, r Rung, a Attempt) {
	if !a.Did && a.Err == nil || errors.Is(a.Err, context.Canceled) && ctx.Err() != nil {
		return
	}
	m := mailbox.Mark{Step: mailbox.Pushed, At: time.Now(), Result: r.Name}
	if a.Detail != "" {
		m.Result += ": " + a.Detail
	}
	if a.Err != nil {
		m.Step, m.Result = mailbox.Failed, r.Name+": "+a.Err.Error()
		l.o.Log("the agent was not woken by " + m.Result)
	}
	for _, id := range l.about[:min(len(l.about), maxNoted)] {
		m.ID = id
		l.o.Note(m)
	}
}
