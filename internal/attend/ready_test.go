package attend

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestReady: until the agent can be told, nothing is pushed, a session opens and closes all the same, and nothing of the
// backlog is lost.
func TestReady(t *testing.T) {
	var ready chan struct{}
	fake(t, func(o *Options) { ready = make(chan struct{}); o.Ready = ready }, func(t *testing.T, r *rig) {
		p := r.peer("sess:p")
		const most = 1000
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

// TestReadyAfterHalt: what could not be told before a halt is not told in it, nor after it.
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

// TestNeverReady: an agent that never listens holds up no end.
func TestNeverReady(t *testing.T) {
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
