package watchdog

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store/memstore"
)

// newDatedRig is a rig whose store knows when a record was written, by the same clock, and keeps all of them for the time of a test.
func newDatedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.store = memstore.New(memstore.Options{Now: func() time.Time { return r.now }, LiveTTL: 24 * time.Hour})
	r.book.Store = r.store
	return r
}

// shown puts the record of a session there, with a heartbeat of a time.
func (r *rig) shown(id address.SessionID, status string, beat time.Time, o presence.Start) {
	r.t.Helper()
	o.SessionID, o.Instance, o.WorkStatus = id, who, status
	o.Launch = &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Session: "main", Pane: "%1"}}
	if _, err := presence.New(r.store).Open(r.t.Context(), o, beat); err != nil {
		r.t.Fatal(err)
	}
}

// TestMirroredSession: this machine does not judge whether an agent of another machine has ended, whatever process and pane its session
// names. A local agent is not looked for where a mirrored session of it says. The fifteenth weakness.
func TestMirroredSession(t *testing.T) {
	t.Parallel()
	for mirroredAt, want := range map[string]int{"": 1, "2030-05-01T09:58:00.000Z": 0} {
		t.Run(fmt.Sprintf("mirrored at %q", mirroredAt), func(t *testing.T) {
			t.Parallel()
			r := newDatedRig(t)
			r.shown("ses-far", "working", r.now.Add(-2*time.Minute), presence.Start{PID: 1, MirroredAt: mirroredAt})
			r.o.Ended = func(_ context.Context, s *presence.Session) bool {
				if s.MirroredAt != "" {
					t.Error("the process of a mirrored session was asked about")
				}
				return true
			}
			r.goes(New(r.o), 50*time.Second)
			if e := r.entry(); (e != nil) != (want > 0) || len(r.asked) != want {
				t.Errorf("entry %+v, asked %d times, want %d", e, len(r.asked), want)
			}
		})
	}
	r := newDatedRig(t)
	r.shown("ses-far", "working", r.now.Add(-time.Second), presence.Start{MirroredAt: "2030-05-01T09:59:59.000Z"})
	r.shown("ses-here", "working", r.now.Add(-time.Minute), presence.Start{})
	r.record("paused")
	var to []address.SessionID
	r.try = func(ctx context.Context, got Target) (Attempt, error) {
		if got.Session != nil {
			to = append(to, got.Session.SessionID)
		}
		return Attempt{Did: true}, got.Claim(ctx)
	}
	r.goes(New(r.o), time.Minute)
	if fmt.Sprint(to) != "[ses-here]" {
		t.Errorf("asked %v, want the session of this machine, once", to)
	}
}

// TestHeartbeatInTheFuture: a session with a heartbeat ahead of the clock counts as long as one with a current heartbeat. The agent is
// asked without waiting for the clock to catch up. The twenty-fourth weakness.
func TestHeartbeatInTheFuture(t *testing.T) {
	t.Parallel()
	for ahead, most := range map[time.Duration]time.Duration{ // within the skew of clocks it is believed to the letter
		30 * time.Second: presence.Expiry + 30*time.Second, 24 * time.Hour: presence.Expiry, 50 * 365 * 24 * time.Hour: presence.Expiry,
	} {
		for _, mirroredAt := range []string{"", "2030-05-01T10:00:00.000Z"} {
			t.Run(fmt.Sprintf("%s %q", ahead, mirroredAt), func(t *testing.T) {
				t.Parallel()
				r := newDatedRig(t)
				began := r.now
				r.record("paused")
				r.shown("ses-ahead", "blocked", began.Add(ahead), presence.Start{MirroredAt: mirroredAt})
				r.goes(New(r.o), most+2*r.step())
				if len(r.asked) == 0 || r.asked[0].Sub(began) <= presence.Expiry || r.asked[0].Sub(began) > most+r.step() {
					t.Errorf("asked after %d intervals, want between %s and %s", r.after(began), presence.Expiry, most+r.step())
				}
			})
		}
	}
}

func (r *rig) step() time.Duration { s := r.o.Settings.Full(); return s.Interval }

// TestMirroredConductor: an agent that is only mirrored here may ask for no other agent, even if a registration names it. A registered one
// may.
func TestMirroredConductor(t *testing.T) {
	t.Parallel()
	r := newPostRig(t, "scope:b")
	const far, under = address.Instance("claude:far:ffffffffffff"), address.Instance("codex:under:eeeeeeeeeeee")
	own := registry.Build(registry.Agent{Instance: far}, r.now)
	for _, raw := range [][]byte{
		canonjson.Set(own, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`)),
		registry.Build(registry.Agent{Instance: under, Conductor: string(far), Principal: string(far)}, r.now),
	} {
		if err := r.post.Registry.Register(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	if may, err := r.post.may(t.Context(), far, under); may || err != nil {
		t.Errorf("mirrored: %v %v, want that it may not", may, err)
	}
	if err := r.post.Registry.Register(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	if may, err := r.post.may(t.Context(), far, under); !may || err != nil {
		t.Errorf("registered: %v %v, want that it may", may, err)
	}
}
