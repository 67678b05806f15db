package live

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/governance/agreement"
	"tutti/internal/store"
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

// TestNegotiationNews: a session gets news of its negotiations within dealsEvery, except while its user is holding back pushes. The bus is
// not polled more often than that.
func TestNegotiationNews(t *testing.T) {
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

// TestNegotiationNewsIsImmediate: another party's journal entry is reported when the watcher of the store reports the change, without a
// timer.
func TestNegotiationNewsIsImmediate(t *testing.T) {
	d := &deals{}
	change := func(o *Options) {
		o.Heartbeat, o.DealsEvery = time.Hour, time.Hour
		o.Deals = func(*presence.Session) Deals { return d }
	}
	const told = `sess:me negotiation.event_appended {"negotiationId":"n:1","newEntries":1,"totalEntries":2}`
	add := func(r *rig) {
		r.t.Helper()
		if _, err := r.s.Append(r.t.Context(), store.Key{Kind: store.Journal, Name: "n__1"}, store.AnyEnd, []byte(`{"id":"evt:1"}`)); err != nil {
			r.t.Fatal(err)
		}
	}
	fake(t, change, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.want()
		add(r)
		r.want(told)
	})
	t.Run("folder", func(t *testing.T) {
		d := &deals{}
		heard := make(chan Push, 1)
		r := newRig(t, folder(t), func(o *Options) {
			change(o)
			o.Deals = func(*presence.Session) Deals { return d }
			o.Emit = func(p Push) error {
				select {
				case heard <- p:
				default: // a change of the folder may be noticed more than once; only the first push is looked at
				}
				return nil
			}
		})
		r.open("sess:me")
		add(r)
		if p := <-heard; p.Topic != EntriesAppended {
			t.Errorf("got %+v", p)
		}
	})
}
