package halt

import (
	"context"
	"time"
)

// pollEvery is how often the switch is read when the system does not report changes. Half of the 100 ms within which a halt
// must take effect, so that a late timer does not break the promise.
const pollEvery = 50 * time.Millisecond

// Context returns a copy of parent that is cancelled within 100 ms of the user halting, with an
// *[Error] as its cause. It ends the action in hand; a part of the program that outlives a halt waits
// for the clearing with [WaitFor] and asks for a new context then.
//
// look says "look again". It must have been armed before the call, must deliver after everything that
// may concern the switch, and serves one call only: a value that another reader takes is lost to this
// one. With a look channel nothing wakes up while nothing happens. When look is nil, or once it is
// closed, the switch is looked at every 50 ms. The returned function releases what the context holds
// and must be called; the cause is then [context.Canceled].
func Context(parent context.Context, look <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := func() { cancel(nil) }
	if err := Check(""); err != nil {
		cancel(err)
		return ctx, stop
	}
	go follow(ctx, look, func() bool {
		if !present() {
			return false
		}
		s, mark := readWhole(settle)
		if !s.Halted {
			return false
		}
		counted := make(chan struct{})
		go func() {
			defer close(counted)
			_ = note(mark)
		}()
		select {
		case <-counted:
		case <-time.After(countFirst):
		}
		cancel(s.Err(""))
		return true
	})
	return ctx, stop
}

// settle is how long the end of an action waits for the reason of an entry that has just appeared, settleShown how
// long a part that only shows the halt does, and settleStep how often both look. [Raise] adds the reason a fraction of a
// millisecond after making the entry, later only where it was put off the processor in between. Together with pollEvery
// and countFirst settle stays below 100 ms.
const (
	settle      = 15 * time.Millisecond
	settleShown = 250 * time.Millisecond
	settleStep  = time.Millisecond
)

// countFirst is how long counting the halt may hold up the end of a context. The process may exit as
// soon as it has ended, and the halt would not be counted; but counting writes to a disk, which may be
// slow.
const countFirst = 20 * time.Millisecond

// Settled is [Read] for a part of the program that runs for long and may have been woken by the entry
// before its reason was there: it waits up to 250 ms for the reason of an entry that is about as young,
// and for nothing else. What a single command does is asked of [Check], which never waits.
func Settled() State {
	s, mark := readWhole(settleShown)
	if s.Halted {
		_ = note(mark) // a counter that cannot be written must not change the answer
	}
	return s
}

// readWhole looks as read does, and again while a reason may still come.
func readWhole(most time.Duration) (s State, mark int64) {
	for end := time.Now().Add(most); ; time.Sleep(settleStep) {
		s, mark = read()
		if !s.Halted || s.Unreadable || s.Reason != "" {
			return s, mark
		}
		if time.Since(s.Since).Abs() > 2*most || !time.Now().Before(end) {
			return s, mark
		}
	}
}

// WaitFor blocks until the switch is on (halted) or off (not halted), at once if it is already, and
// returns its state. The error is the cause of ctx when that ended first. look is as for [Context].
func WaitFor(ctx context.Context, look <-chan struct{}, halted bool) (State, error) {
	var s State
	reached := follow(ctx, look, func() bool {
		if present() != halted {
			return false
		}
		var mark int64
		if s, mark = readWhole(settle); s.Halted {
			_ = note(mark)
		}
		return s.Halted == halted
	})
	if !reached {
		s, _ = read()
		return s, context.Cause(ctx)
	}
	return s, nil
}

// follow calls seen until it returns true, whenever look delivers, and every pollEvery when look is
// nil or has been closed. It returns false when ctx ended first.
func follow(ctx context.Context, look <-chan struct{}, seen func() bool) bool {
	var tick <-chan time.Time
	for {
		if seen() {
			return true
		}
		if look == nil && tick == nil {
			t := time.NewTicker(pollEvery)
			defer t.Stop()
			tick = t.C
		}
		select {
		case <-ctx.Done():
			return false
		case _, ok := <-look:
			if !ok {
				look = nil
			}
		case <-tick:
		}
	}
}
