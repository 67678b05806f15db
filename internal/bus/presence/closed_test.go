package presence_test

import (
	"errors"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/store"
)

// TestClosedByOthers: the owner of a session that another process closed does not reopen it, and gets an error.
func TestClosedByOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p, ctx := presence.New(docs), t.Context()
		own := open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now)
		if _, err := p.Amend(ctx, "s", presence.Change{State: presence.Closed}); err != nil {
			t.Fatal(err)
		}
		status := presence.Working
		for n := range 3 { // however often it tries
			later := now.Add(time.Duration(n+1) * time.Second)
			if s, err := p.Beat(ctx, own, later); !errors.Is(err, presence.ErrClosed) {
				t.Errorf("Beat: %+v, %v, want ErrClosed", s, err)
			}
			if s, err := p.Patch(ctx, own, presence.Change{State: presence.Live, WorkStatus: &status}, later); !errors.Is(err, presence.ErrClosed) {
				t.Errorf("Patch: %+v, %v, want ErrClosed", s, err)
			}
		}
		if got := member(t, docs, "s", "state"); got != `"closed"` {
			t.Errorf("state %s", got)
		}
		if got := member(t, docs, "s", "heartbeatAt"); got != `"2026-06-12T10:00:00.000Z"` {
			t.Errorf("heartbeat %s", got)
		}
		if found, err := p.Fresh(ctx, now); err != nil || len(found) != 0 {
			t.Errorf("Fresh: %q, %v", ids(found), err)
		}
		if err := p.Close(ctx, own); err != nil {
			t.Errorf("Close by the owner: %v", err)
		}
		if _, err := docs.Get(ctx, keyOf("s")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after Close: %v", err)
		}

		open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now)
		if _, err := p.Amend(ctx, "s", presence.Change{State: presence.Closed}); err != nil {
			t.Fatal(err)
		}
		again := open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now.Add(time.Second))
		if again.State != presence.Live {
			t.Errorf("a session that begins under the id of a closed one: %s", again.State)
		}
		if _, err := p.Beat(ctx, again, now.Add(2*time.Second)); err != nil {
			t.Errorf("its heartbeat: %v", err)
		}
		mine, err := p.Patch(ctx, again, presence.Change{State: presence.Closed}, now.Add(3*time.Second))
		if err != nil || mine.State != presence.Closed {
			t.Fatalf("closed by the owner itself: %+v, %v", mine, err)
		}
		foreign(t, docs, "s", "theirs", `1`)
		if _, err := p.Patch(ctx, mine, presence.Change{State: presence.Live}, now.Add(4*time.Second)); err != nil {
			t.Errorf("opened again by the owner itself: %v", err)
		}
	})
}

// TestSweptWhileRunning: removing the record of a session does not close it.
func TestSweptWhileRunning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p, ctx := presence.New(docs), t.Context()
		s := open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now)
		sweep(t, docs, "s")
		later := now.Add(time.Hour)
		if _, err := p.Beat(ctx, s, later); err != nil {
			t.Fatal(err)
		}
		if found, err := p.Fresh(ctx, later); err != nil || len(found) != 1 || found[0].State != presence.Live {
			t.Errorf("Fresh: %q, %v", ids(found), err)
		}
	})
}
