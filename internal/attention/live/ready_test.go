package live

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestReady: until the agent can be told, nothing is pushed, a session opens and closes all the same, and nothing of the
// backlog is lost.
func TestReady(t *testing.T) {
	var ready chan struct{}
	fake(t, func(o *Options) { ready = make(chan struct{}); o.Ready = ready }, func(t *testing.T, r *rig) {
		p := r.peer("sess:p")
		const most = 300
		var want []string
		for n := range most {
			id := fmt.Sprintf("env:%04d", n)
			r.put(id)
			want = append(want, old(arrived("sess:me", id)))
		}
		r.open("sess:me")
		r.open("sess:brief")
		r.sleep(time.Minute)
		r.want()
		r.wantFresh()
		if _, held, err := r.a.Close(t.Context(), "sess:brief", ""); !held || err != nil {
			t.Errorf("Close: %t %v", held, err)
		}
		r.beat(p)
		r.put("env:new")
		close(ready)
		r.want(append(append([]string{old(joined("sess:me", "sess:p"))}, want...), arrived("sess:me", "env:new"))...)
		r.wantLog()
	})
}

// TestReadyAfterHalt: a notice that could not be sent before a halt is not sent during it or after it.
func TestReadyAfterHalt(t *testing.T) {
	var ready chan struct{}
	fake(t, func(o *Options) { ready = make(chan struct{}); o.Ready = ready }, func(t *testing.T, r *rig) {
		r.put("env:1")
		r.open("sess:me")
		r.halt.Store(true)
		r.epoch.Add(1)
		close(ready)
		r.want()
		r.halt.Store(false)
		r.look <- struct{}{}
		r.put("env:2")
		r.want()
		if !r.a.Engage(me) {
			t.Error("it was not stopped")
		}
		r.put("env:3")
		r.want(arrived("sess:me", "env:3"))
		r.a.Leave(context.Background())
	})
}

// TestNeverReadyDoesNotBlockClose: an agent that never listens holds up no end.
func TestNeverReadyDoesNotBlockClose(t *testing.T) {
	fake(t, func(o *Options) { o.Ready = make(chan struct{}) }, func(t *testing.T, r *rig) {
		r.put("env:1")
		r.open("sess:me")
		began := time.Now()
		r.a.Leave(t.Context())
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		r.want()
	})
}

// hanging is a store whose heartbeats can hang until their context ends.
type hanging struct {
	*memstore.Store
	hang  atomic.Bool
	hangs chan struct{} // closed when one does
}

func (h *hanging) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	if h.hang.CompareAndSwap(true, false) {
		close(h.hangs)
		<-ctx.Done()
		return "", ctx.Err()
	}
	return h.Store.Replace(ctx, k, data, old)
}

// TestCloseDuringHeartbeat: a heartbeat that hangs delays the close only as long as the caller is willing to wait.
func TestCloseDuringHeartbeat(t *testing.T) {
	t.Parallel()
	s := &hanging{Store: memstore.New(memstore.Options{}), hangs: make(chan struct{})}
	r := newRig(t, s, func(o *Options) { o.Heartbeat = 10 * time.Second })
	r.open("sess:me")
	s.hang.Store(true)
	go r.a.beatAll()
	<-s.hangs
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r.a.Leave(ctx)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}
