package overview

import (
	"context"
	"time"
)

// A Pace is how often [Follow] looks.
type Pace struct {
	Least time.Duration // between two looks, also where much is reported
	Soon  time.Duration // after a look that found something new: what tells nothing by itself may go on
	Later time.Duration // between two looks where nothing is reported and nothing was new
}

// Follow looks until ctx ends: first at once, then after each hint, and at its pace besides, because neither a screen nor a heartbeat
// that stops reports anything. look reports whether it has found something new.
func Follow(ctx context.Context, p Pace, hints <-chan struct{}, look func(context.Context) (news bool)) {
	pause := p.Soon
	for {
		began := time.Now()
		if news := look(ctx); ctx.Err() != nil {
			return
		} else if news {
			pause = p.Soon
		} else {
			pause = min(p.Later, pause*2)
		}
		late := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-late.C:
		case <-hints:
			pause = p.Soon
			if rest := p.Least - time.Since(began); rest > 0 {
				late.Reset(rest)
				select {
				case <-ctx.Done():
				case <-late.C:
				}
			}
		}
		late.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
