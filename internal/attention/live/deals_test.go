package live

import (
	"context"
	"sync/atomic"
	"testing"

	"tutti/internal/bus/presence"
	"tutti/internal/governance/agreement"
)

// deals are negotiations of which one grows by an entry between two looks, from the second look on.
type deals struct{ looks atomic.Int64 }

func (d *deals) Look(context.Context) ([]agreement.Growth, error) {
	n := int(d.looks.Add(1))
	if n == 1 {
		return nil, nil
	}
	return []agreement.Growth{{ID: "n:1", New: 1, Total: n}}, nil
}

// TestDeals: within dealsEvery a session is told of what was added to its negotiations, but for the time in which its user lets
// nothing be told, and the bus is asked for nothing more often than that.
func TestDeals(t *testing.T) {
	d := &deals{}
	fake(t, func(o *Options) { o.Deals = func(*presence.Session) Deals { return d } }, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.want()
		r.sleep(dealsEvery)
		r.want(`sess:me negotiation.event_appended {"negotiationId":"n:1","newEntries":1,"totalEntries":2}`)
		r.halt.Store(true)
		r.epoch.Add(1)
		r.look <- struct{}{}
		r.sleep(dealsEvery)
		r.want()
		r.halt.Store(false)
		r.look <- struct{}{}
		r.a.Engage(me)
		r.sleep(dealsEvery)
		r.want(`sess:me negotiation.event_appended {"negotiationId":"n:1","newEntries":1,"totalEntries":4}`)
		if n := d.looks.Load(); n != 4 {
			t.Errorf("looked %d times in %s", n, 3*dealsEvery)
		}
		r.wantLog()
	})
}
