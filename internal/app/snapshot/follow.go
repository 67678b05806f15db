package snapshot

import (
	"context"
	"syscall"
	"time"
)

// How long Follow waits between two looks.
const (
	soonest = 100 * time.Millisecond // so that a message is shown within 200 ms
	// burst is how much processor time looks may take in a row before they are made rarer, and newsShare the part of a processor that
	// they may take then.
	burst       = 500 * time.Millisecond
	newsShare   = 25
	screenShare = 150              // the part that looks may take because of what programs write to their screens
	rarest      = 2 * time.Second  // however much happens, a change is seen after that
	screens     = 2 * time.Second  // what a program writes to its screen is looked at so often, or more rarely by screenShare
	slowest     = 10 * time.Second // but at least so often
	blindly     = 60 * time.Second // for heartbeats that stop, which nothing reports
	polled      = 4 * time.Second  // where the system does not tell what is written to screens
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
		began, before := time.Now(), spent()
		now := *o
		now.App = o.App.In(o.App.WorkDir()) // it reads everything anew
		v, err := Take(ctx, &now)
		if ctx.Err() != nil {
			return
		}
		took, cost := time.Since(began), spent()-before
		rest := blindly
		if v != nil && !w.follow(ctx, v) {
			rest = polled
		}
		each(v, err)
		debt += cost
		pause := max(soonest, min(rarest, (debt-burst)*newsShare))
		if !w.wait(ctx, began.Add(took), pause, max(screens, min(slowest, cost*screenShare)), rest) {
			return
		}
		debt = max(0, debt-time.Since(began)/newsShare)
	}
}

// spent is the processor time of this process and of the programs that it has started. The time on a clock would count what other
// programs of the machine do.
func spent() (all time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return all
}
