package snapshot

import (
	"context"
	"time"
)

// How long Follow waits between two looks.
const (
	soonest = 100 * time.Millisecond // so that a message is shown within 200 ms
	// burst is how much time looks may take in a row before they are made rarer, and share the part of the time that they may take then.
	burst   = 250 * time.Millisecond
	share   = 150
	rarest  = 2 * time.Second  // however much happens, a change is seen after that
	screens = 2 * time.Second  // what a program writes to its screen is looked at so often, or more rarely by share
	slowest = 10 * time.Second // but at least so often
	blindly = 60 * time.Second // for heartbeats that stop, which nothing reports
	polled  = 4 * time.Second  // where the system does not tell what is written to screens
)

// Follow calls each with a view at once and after each change, or with the error of a failed look, until ctx ends. The options may
// not change meanwhile.
func Follow(ctx context.Context, o *Options, each func(*View, error)) {
	ctx, stop := context.WithCancel(ctx)
	w := newWatch(ctx, o.App)
	defer w.close()
	defer stop() // the watches of buses end with it
	var debt time.Duration
	for {
		w.arm()
		began := time.Now()
		now := *o
		now.App = o.App.In(o.App.WorkDir()) // it reads everything anew
		v, err := Take(ctx, &now)
		if ctx.Err() != nil {
			return
		}
		took := time.Since(began)
		rest := blindly
		if v != nil && !w.follow(ctx, v) {
			rest = polled
		}
		each(v, err)
		debt += took
		pause := max(soonest, min(rarest, (debt-burst)*share))
		if !w.wait(ctx, began.Add(took), pause, max(screens, min(slowest, took*share)), rest) {
			return
		}
		debt = max(0, debt-time.Since(began)/share)
	}
}
