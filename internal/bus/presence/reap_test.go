package presence_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/store"
)

func TestReap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p := presence.New(docs)
		for _, o := range []presence.Start{
			start("keep", "claude:api:0a1b2c3d4e5f"), start("dead", "Claude:API:0a1b2c3d4e5f"), start("other", "claude:web:0a1b2c3d4e5f"),
			{SessionID: "nopid", Instance: "claude:api:0a1b2c3d4e5f"},
			{SessionID: "alive", Instance: "claude:api:0a1b2c3d4e5f", PID: 1},
			{SessionID: "mirror", Instance: "claude:api:0a1b2c3d4e5f", PID: 4242, MirroredAt: "2026-06-12T10:00:00.000Z"},
		} {
			open(t, p, o, now)
		}
		alive := func(pid int) bool { return pid == 1 }
		gone, err := p.Reap(t.Context(), "claude:api:0a1b2c3d4e5f", "keep", alive)
		if err != nil || len(gone) != 1 || gone[0].SessionID != "dead" {
			t.Errorf("took away %q, %v, want the dead one", ids(gone), err)
		}
		if again, err := p.Reap(t.Context(), "claude:api:0a1b2c3d4e5f", "keep", alive); err != nil || len(again) != 0 {
			t.Errorf("then took away %q, %v, want none", ids(again), err)
		}
		left, err := p.Fresh(t.Context(), now)
		got := ids(left)
		slices.Sort(got)
		if want := []string{"alive", "keep", "mirror", "nopid", "other"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("left are %q, %v, want %q", got, err, want)
		}
	})
}

func TestExtraMembersAndActivity(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p := presence.New(docs)
		o := start("s", "claude:api:0a1b2c3d4e5f")
		o.Extra = map[string][]byte{"pid": []byte("7")}
		if _, err := p.Open(t.Context(), o, now); !errors.Is(err, presence.ErrUnknownMember) {
			t.Errorf("extra pid: %v, want ErrUnknownMember", err)
		}
		o.Extra = map[string][]byte{"transport": []byte(`"stdio"`)}
		s := open(t, p, o, now)
		if got := member(t, docs, "s", "transport"); got != `"stdio"` {
			t.Errorf("transport is %s", got)
		}
		s, err := p.Patch(t.Context(), s, presence.Change{MCPActivityAt: now.Add(time.Second)}, now.Add(2*time.Second))
		if err != nil || s.MCPActivityAt != "2026-06-12T10:00:01.000Z" {
			t.Errorf("activity at %q, %v", s.MCPActivityAt, err)
		}
		if s, err = p.Beat(t.Context(), s, now.Add(3*time.Second)); err != nil || s.MCPActivityAt != "2026-06-12T10:00:01.000Z" {
			t.Errorf("after a heartbeat activity at %q, %v, want it to stay", s.MCPActivityAt, err)
		}
		drains := s.With(presence.Change{State: presence.Draining})
		if drains.State != presence.Draining || s.State != presence.Live || member(t, docs, "s", "state") != `"live"` {
			t.Errorf("With made %q of a session that is %q, and wrote %s", drains.State, s.State, member(t, docs, "s", "state"))
		}
		if same := s.With(presence.Change{State: "dancing"}); same != s {
			t.Errorf("With a state that is none made %+v, want the session as it was", same)
		}
	})
}
