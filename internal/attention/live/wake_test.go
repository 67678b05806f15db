package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// TestResumedInTerminal: an agent that was resumed at a terminal gets what arrives later.
func TestResumedInTerminal(t *testing.T) {
	on, fails := false, false
	change := func(o *Options) {
		o.Engaged = func(_ context.Context, i address.Instance) (bool, error) {
			if fails {
				return false, errors.New("no trail")
			}
			return on && i == me, nil
		}
	}
	fake(t, change, func(t *testing.T, r *rig) {
		on, fails = false, false
		r.open("sess:me")
		r.raise()
		on = true // of a halt before this one: asked while the switch is on it would count for this one
		r.put("env:0:z")
		r.want()
		on = false
		r.clear()
		r.put("env:1:a")
		r.want()
		fails = true
		r.put("env:1:b")
		r.want()
		r.wantLog("session sess:me gets no notices: it is unknown whether its user has let it go on: no trail")
		fails, on = false, true
		r.put("env:2:b")
		r.want(arrived("sess:me", "env:2:b"))
		on = false // it is not asked any more
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		r.raise()
		r.clear()
		r.put("env:4:d")
		r.want()
	})
}

// A waker writes down what it is told.
type waker struct {
	mu   sync.Mutex
	told []string
}

func (w *waker) say(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, s)
}
func (w *waker) Mail()  { w.say("mail") }
func (w *waker) Halt()  { w.say("halt") }
func (w *waker) Close() { w.say("close") }

// TestWaker: the waker gets the news, also when the session does not, and learns of a halt.
func TestWaker(t *testing.T) {
	var w *waker
	var may func() bool
	change := func(o *Options) {
		o.Wake = func(s *presence.Session, m func() bool) Waker {
			if s.SessionID != "sess:me" {
				return nil
			}
			may = m
			return w
		}
	}
	fake(t, change, func(t *testing.T, r *rig) {
		w = &waker{}
		want := func(told ...string) {
			t.Helper()
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			r.same("the waker", w.told, told...)
			w.told = nil
		}
		r.put("env:0:z")
		if _, _, err := r.a.Open(t.Context(), presence.Start{SessionID: "sess:me", Instance: me, Topics: []string{}}, nil); err != nil {
			t.Fatal(err)
		}
		want()
		r.put("env:1:a", "env:1:b")
		want("mail", "mail")
		if !may() {
			t.Error("it may not")
		}
		r.raise()
		want("halt")
		r.put("env:2:c")
		want()
		r.clear()
		r.put("env:3:d")
		want()
		if may() {
			t.Error("it may, and was not let go on")
		}
		r.a.Engage(me)
		r.put("env:4:e")
		want("mail")
		if _, _, err := r.a.Close(t.Context(), "sess:me", presence.Closed); err != nil {
			t.Fatal(err)
		}
		want("close")
	})
}

// TestMailWhileOpening: a message that comes between the record of a session and its first look wakes the agent, what lay there before does
// not.
func TestMailWhileOpening(t *testing.T) {
	for _, c := range []struct {
		name string
		when func(r *rig) // called while the session is being opened
		want string
	}{
		{"nothing comes", func(*rig) {}, "[]"},
		{"a message comes", func(r *rig) { r.put("env:1:a") }, "[mail]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &waker{}
			var r *rig
			change := func(o *Options) {
				o.Wake = func(*presence.Session, func() bool) Waker { return w }
				o.Standing = func(context.Context, address.Instance) error {
					c.when(r)
					return nil
				}
			}
			fake(t, change, func(t *testing.T, made *rig) {
				r = made
				r.put("env:0:z")
				r.sleep(time.Second)
				r.open("sess:me")
				synctest.Wait()
				w.mu.Lock()
				defer w.mu.Unlock()
				if got := fmt.Sprint(w.told); got != c.want {
					t.Errorf("the waker got %s, want %s", got, c.want)
				}
			})
		})
	}
}
