package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

func TestOpenAndClose(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.peer("sess:p")
		start := presence.Start{Instance: me, PID: 42, Interests: presence.Interests{Scopes: []string{"scope:default"}}}
		own, peers, err := r.a.Open(t.Context(), start, map[string][]byte{"transport": []byte(`"stdio"`)})
		if err != nil {
			t.Fatal(err)
		}
		if !own.SessionID.Minted() || own.State != presence.Live || !strings.Contains(string(own.Raw), `"transport": "stdio"`) {
			t.Errorf("opened %s, want a minted id, live, and the extra member", own.Raw)
		}
		if len(peers) != 1 || peers[0].SessionID != "sess:p" {
			t.Errorf("peers are %v, want sess:p", peers)
		}
		start.SessionID = own.SessionID
		if _, _, err := r.a.Open(t.Context(), start, nil); !errors.Is(err, ErrHeld) {
			t.Errorf("opening it again: %v, want ErrHeld", err)
		}
		start.SessionID = "sess:p"
		if _, _, err := r.a.Open(t.Context(), start, nil); !errors.Is(err, presence.ErrTaken) {
			t.Errorf("opening that of another agent: %v, want ErrTaken", err)
		}
		start.SessionID = ""
		if _, _, err := r.a.Open(t.Context(), start, map[string][]byte{"pid": []byte("1")}); !errors.Is(err, presence.ErrUnknownMember) {
			t.Errorf("an extra member that is none: %v, want ErrUnknownMember", err)
		}
		if got := r.a.Sessions(); len(got) != 1 || got[0].SessionID != own.SessionID {
			t.Errorf("holds %v, want the one that was opened", got)
		}
		if _, held, err := r.a.Close(t.Context(), "sess:p", presence.Closed); held || err != nil {
			t.Errorf("closing that of another process: held %v, %v, want neither", held, err)
		}
		s, held, err := r.a.Close(t.Context(), own.SessionID, "")
		if err != nil || !held || s.State != presence.Closed || s.SessionID != own.SessionID {
			t.Errorf("closing it: %v, %v, %v, want it closed", s, held, err)
		}
		if _, err := r.who.Get(t.Context(), own.SessionID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("its record: %v, want none", err)
		}
		if _, held, _ := r.a.Close(t.Context(), own.SessionID, ""); held {
			t.Error("it can be closed twice")
		}
		r.sleep(time.Hour)
		if _, err := r.who.Get(t.Context(), own.SessionID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("its record an hour later: %v, want none", err)
		}
	})
}

func TestDrainingIsKept(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		if s, _, err := r.a.Close(t.Context(), "sess:me", presence.Draining); err != nil || s.State != presence.Draining {
			t.Fatalf("got %v, %v, want it draining", s, err)
		}
		at := time.Now()
		r.sleep(time.Minute)
		s, err := r.who.Get(t.Context(), "sess:me")
		if err != nil || s.State != presence.Draining || s.HeartbeatAt != envelope.Stamp(at) {
			t.Errorf("its record is %v, %v, want it draining without a heartbeat since %v", s, err, at)
		}
		if len(r.a.Sessions()) != 0 {
			t.Error("the process holds it still")
		}
	})
}

func TestHeartbeat(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.sleep(7 * time.Second)
		r.a.Active("sess:me")
		r.a.Active("sess:nobody")
		said := time.Now()
		for n := range 10 {
			r.sleep(presence.Heartbeat)
			s, err := r.who.Get(t.Context(), "sess:me")
			if err != nil {
				t.Fatal(err)
			}
			if beat, _ := envelope.ParseTime(s.HeartbeatAt); time.Since(beat) > presence.Heartbeat {
				t.Errorf("after %d heartbeats the last one is %v old", n+1, time.Since(beat))
			}
			if s.MCPActivityAt != envelope.Stamp(said) {
				t.Errorf("agent was active at %q, want %q", s.MCPActivityAt, envelope.Stamp(said))
			}
		}
	})
}

// TestClosedByOtherProcess: a process that may close a session decides that it is closed.
func TestClosedByOtherProcess(t *testing.T) {
	for _, state := range []string{presence.Closed, presence.StateExpired} {
		fakeNamed(t, state, func(t *testing.T, r *rig) {
			r.open("sess:me")
			if _, err := r.who.Amend(t.Context(), "sess:me", presence.Change{State: state}); err != nil {
				t.Fatal(err)
			}
			r.sleep(presence.Heartbeat)
			r.wantLog("session sess:me is over: another process closed it")
			r.put("env:1:a")
			r.sleep(time.Minute)
			r.want()
			if len(r.a.Sessions()) != 0 {
				t.Error("the process holds it still")
			}
			if s, err := r.who.Get(t.Context(), "sess:me"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("its record is %v, %v, want none", s, err)
			}
		})
	}
	fakeNamed(t, "taken", func(t *testing.T, r *rig) {
		s := r.open("sess:me")
		r.close(s)
		r.peer("sess:me")
		r.sleep(presence.Heartbeat)
		r.wantLog("session sess:me is over: its name belongs to another agent now")
	})
}

func fakeNamed(t *testing.T, name string, f func(t *testing.T, r *rig)) {
	t.Run(name, func(t *testing.T) { fake(t, nil, f) })
}

func TestDeadSessionsOfTheAgent(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		for _, s := range []presence.Start{
			{SessionID: "sess:dead", Instance: "Claude:API:3F2A9C01B7DE", PID: 4711},
			{SessionID: "sess:alive", Instance: me, PID: 1},
			{SessionID: "sess:nopid", Instance: me},
			{SessionID: "sess:mirror", Instance: me, PID: 4711, MirroredAt: "2026-06-01T12:00:00.000Z"},
			{SessionID: "sess:other", Instance: other, PID: 4711},
		} {
			if _, err := r.who.Open(t.Context(), s, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		_, peers, err := r.a.Open(t.Context(), presence.Start{SessionID: "sess:me", Instance: me, PID: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range peers {
			ids = append(ids, string(p.SessionID))
		}
		slices.Sort(ids)
		r.same("peers", ids, "sess:alive", "sess:mirror", "sess:nopid", "sess:other")
		r.wantLog("took away session sess:dead: its process 4711 is gone")
	})
}

func TestManySessions(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		for n := range MaxSessions {
			r.open(address.SessionID(fmt.Sprintf("sess:%d", n)))
		}
		synctest.Wait()
		// each later one is told of the earlier ones as its backlog, and each earlier one of the later ones as news
		backlog, news := 0, 0
		for _, line := range r.heard() {
			if strings.HasSuffix(line, `,"backlog":true}`) {
				backlog++
			} else {
				news++
			}
		}
		if all := MaxSessions * (MaxSessions - 1); backlog+news != all {
			t.Errorf("told %d + %d, want %d", backlog, news, all)
		}
		if _, _, err := r.a.Open(t.Context(), presence.Start{Instance: me}, nil); !errors.Is(err, ErrFull) {
			t.Errorf("one more: %v, want ErrFull", err)
		}
		r.put("env:1:a")
		synctest.Wait()
		if got := r.heard(); len(got) != MaxSessions {
			t.Errorf("one message was pushed %d times, want once a session", len(got))
		}
		r.sleep(5 * time.Minute)
		r.want()
		r.a.Leave(t.Context())
		r.a.Leave(t.Context())
		if list, err := r.who.Fresh(t.Context(), time.Now()); err != nil || len(list) != 0 {
			t.Errorf("after Leave there are %v, %v, want none", list, err)
		}
		if _, _, err := r.a.Open(t.Context(), presence.Start{Instance: me}, nil); !errors.Is(err, ErrLeft) {
			t.Errorf("opening after Leave: %v, want ErrLeft", err)
		}
		r.wantLog()
	})
}

func TestHalt(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		gone := r.peer("sess:gone")
		r.open("sess:me")
		r.want(old(joined("sess:me", "sess:gone")))

		r.raise()
		r.put("env:1:a")
		r.close(gone)
		r.peer("sess:came")
		r.sleep(5 * time.Minute)
		r.want()
		r.wantFresh()
		r.a.Engage(me) // nobody is engaged by this
		r.clear()
		r.put("env:2:b")
		r.sleep(5 * time.Minute)
		r.want()

		r.a.Engage("Claude:Api:3f2a9c01b7de")
		r.sleep(5 * time.Minute)
		r.want()
		r.put("env:3:c")
		p := r.peer("sess:new")
		r.want(arrived("sess:me", "env:3:c"), joined("sess:me", "sess:new"))
		r.close(p)
		r.want(left("sess:me", "sess:new"))
		r.peer("sess:gone") // it left while nobody was told
		r.want(joined("sess:me", "sess:gone"))

		states, err := r.mail.State(t.Context(), me, []string{"sess:me", "env:1:a", "env:2:b"})
		if err != nil || states["sess:me"].Engaged.IsZero() || !states["env:1:a"].Pushed.IsZero() || !states["env:2:b"].Pushed.IsZero() {
			t.Errorf("trail says %+v, %v, want the session engaged and nothing pushed before", states, err)
		}
		r.wantLog()
	})
}

func (r *rig) raise() {
	r.epoch.Add(1)
	r.halt.Store(true)
	r.look <- struct{}{}
	synctest.Wait()
}

func (r *rig) clear() {
	r.halt.Store(false)
	r.look <- struct{}{}
	synctest.Wait()
}

// TestHaltBetweenPolls: a halt stops pushes even before this process has noticed it.
func TestHaltBetweenPolls(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.epoch.Add(1)
		r.put("env:1:a")
		r.want()
		r.a.Engage(other)
		r.put("env:2:b")
		r.want()
		r.a.Engage(me)
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		r.epoch.Store(halt.UnknownEpoch)
		r.put("env:4:d")
		r.want()
	})
}

// TestOpenedWhileHalted: the session waits for its user as those that were open do.
func TestOpenedWhileHalted(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.raise()
		r.peer("sess:p")
		r.put("env:1:a")
		r.open("sess:me")
		r.want()
		r.clear()
		r.put("env:2:b")
		r.want()
		r.a.Engage(me)
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		// a session that begins now begins as any other
		r.open("sess:you")
		synctest.Wait()
		if got := r.heard(); len(got) != 1+2+3 {
			t.Errorf("told %q, want the new session to the old one, and two peers and three messages to the new one", got)
		}
	})
}

// TestSuspendedMachine: after a gap in its own ticking a session reports no peer as absent for one heartbeat, and repeats nothing.
func TestSuspendedMachine(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		sleeper, dead := r.peer("sess:p"), r.peer("sess:q")
		r.open("sess:me")
		r.want(old(joined("sess:me", "sess:p")), old(joined("sess:me", "sess:q")))
		r.sleep(time.Second)
		r.skew.Store(int64(10 * time.Minute))
		r.look <- struct{}{}
		poke(r.a.find("sess:me").full) // a look before the first tick
		r.want()
		r.sleep(presence.Heartbeat)
		r.wantFresh()
		r.put("env:1:a")
		r.want(arrived("sess:me", "env:1:a"))
		r.sleep(presence.Heartbeat / 2)
		if _, err := r.who.Beat(t.Context(), sleeper, r.now()); err != nil { // it woke up as well
			t.Fatal(err)
		}
		r.want()
		r.sleep(presence.Heartbeat)
		r.want(left("sess:me", string(dead.SessionID)))
		r.put("env:2:b")
		r.want(arrived("sess:me", "env:2:b"))
		r.wantLog()
	})
}

// TestClosedPeersLeaveAtOnce: also right after a gap, when they say so themselves.
func TestClosedPeersLeaveAtOnce(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.peer("sess:p")
		r.open("sess:me")
		r.want(old(joined("sess:me", "sess:p")))
		r.skew.Store(int64(10 * time.Minute))
		if _, err := r.who.Amend(t.Context(), "sess:p", presence.Change{State: presence.Closed}); err != nil {
			t.Fatal(err)
		}
		r.want(left("sess:me", "sess:p"))
	})
}

// TestFailingStore: a heartbeat that cannot be written is logged once, and the session goes on when it can.
func TestFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New(memstore.Options{})
		s := &failing{Store: m}
		r := newRig(t, m, func(o *Options) { o.Presence = presence.New(s) })
		r.open("sess:me")
		s.broken.Store(true)
		r.sleep(3 * presence.Heartbeat)
		r.wantLog("session sess:me could not say that it is there: update session: broken")
		s.broken.Store(false)
		r.sleep(presence.Heartbeat)
		r.wantFresh()
		s.broken.Store(true)
		r.sleep(presence.Heartbeat)
		if _, held, err := r.a.Close(t.Context(), "sess:me", ""); !held || !errors.Is(err, errBroken) {
			t.Errorf("closing it: held %v, %v, want it held and the error", held, err)
		}
		if len(r.a.Sessions()) != 1 {
			t.Error("a session that could not be closed is held no more")
		}
		r.logged()
		r.a.Leave(t.Context())
		r.wantLog(`session sess:me stays until it expires: close session "sess:me": broken`)
	})
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := newRig(t, memstore.New(memstore.Options{}), func(o *Options) { o.Heartbeat = 2 * time.Millisecond })
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for n := range 20 {
				id := address.SessionID(fmt.Sprintf("sess:%d", (g+n)%10))
				_, _, err := r.a.Open(t.Context(), presence.Start{SessionID: id, Instance: me}, nil)
				if err != nil && !errors.Is(err, ErrHeld) {
					t.Error(err)
				}
				r.put(fmt.Sprintf("env:%d:%d", g, n))
				r.a.Active(id)
				r.a.Engage(me)
				r.a.Sessions()
				if _, _, err := r.a.Close(t.Context(), id, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 2 {
		work.Go(func() { r.a.Leave(ctx) })
	}
	work.Wait()
	if list, err := r.who.Fresh(t.Context(), time.Now()); err != nil || len(list) != 0 || ctx.Err() != nil {
		t.Errorf("after Leave there are %v, %v, %v, want none", list, err, ctx.Err())
	}
}
