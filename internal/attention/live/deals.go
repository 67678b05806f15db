package live

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
)

// dealsEvery is the time between two looks at the negotiations of a session, unless the heartbeat is shorter. Where the store tells of
// changes the watcher asks for a look as soon as a journal has grown. A look at a thousand negotiations that are over takes 5 ms.
const dealsEvery = 5 * time.Second

// Deals are the negotiations that concern one session. They are used by one goroutine.
type Deals interface {
	// Look returns those to which others have added since the look before, nothing at the first one.
	Look(ctx context.Context) ([]agreement.Growth, error)
}

// followDeals looks at the negotiations of a session when a journal has grown and every dealsEvery, and tells of those in which something was done. What
// happens while nothing may be pushed is not told later: who is set to work again sees with its status what waits for it.
func (h *held) followDeals(ctx context.Context, d Deals) {
	failing := ""
	say := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); line != failing {
			failing = line
			h.a.o.Log(line)
		}
	}
	if ready := h.a.o.Ready; ready != nil {
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}
	every := time.NewTicker(h.a.o.DealsEvery)
	defer every.Stop()
	for {
		grown, err := d.Look(ctx)
		if err != nil && ctx.Err() == nil {
			say("session %s is not told of negotiations for a while: %v", h.id, err)
		}
		for _, g := range grown {
			if ctx.Err() != nil || !h.mayPush() {
				break
			}
			if err := h.a.o.Emit(Push{Topic: EntriesAppended, Session: h.id, Data: dealData(g)}); err != nil {
				say("session %s could not be told of %s: %v", h.id, EntriesAppended, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-h.deals:
		}
	}
}

func dealData(g agreement.Growth) []byte {
	var o canonjson.Object
	o.Str("negotiationId", g.ID)
	o.Int("newEntries", int64(g.New))
	o.Int("totalEntries", int64(g.Total))
	return o.Bytes()
}
