package conductor_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/store/storetest"
)

// A standstill is a store in which something happens when sessions are listed, as in a process that is stopped there.
type standstill struct {
	storetest.Store
	meanwhile func()
}

func (s *standstill) List(ctx context.Context, k store.Kind, owner string) iter.Seq2[store.Entry, error] {
	if then := s.meanwhile; then != nil {
		s.meanwhile = nil
		then()
	}
	return s.Store.List(ctx, k, owner)
}

// TestLaunchAfterLockLost: a process that was stopped behind the gates until another one got its lock and asked does not ask again.
func TestLaunchAfterLockLost(t *testing.T) {
	t.Parallel()
	clock := now
	s := &standstill{Store: memstore.New(memstore.Options{LiveTTL: 1 << 40, Now: func() time.Time { return clock }})}
	g := on(t, s)
	if _, err := g.d.Presence.Open(t.Context(), presence.Start{Instance: "remote:r:000000000001", Host: "remote"}, now); err != nil {
		t.Fatal(err)
	}
	sent := 0
	l := g.launch(func(context.Context, address.Instance, []byte) error { sent++; return nil })
	l.Remote = ""
	s.meanwhile = func() {
		clock = clock.Add(time.Minute)
		if o, err := g.d.Launch(t.Context(), l, clock); err != nil || o.Action != conductor.DidEmit {
			t.Errorf("the other one: %v, %v", o, err)
		}
	}
	o, err := g.d.Launch(t.Context(), l, now)
	if busy, ok := errors.AsType[*conductor.BusyError](err); !ok || busy.Hint() == "" || sent != 1 {
		t.Errorf("%+v, %v: %d were sent", o, err, sent)
	}
}

// TestUnmarked: a request that was sent but could not be recorded is reported as sent.
func TestUnmarked(t *testing.T) {
	t.Parallel()
	g := on(t, memstore.New(memstore.Options{}))
	full := errors.New("no space")
	g.d.Log = &unwritable{g.s, full}
	o, err := g.d.Launch(t.Context(), g.launch(func(context.Context, address.Instance, []byte) error { return nil }), now)
	if !errors.Is(err, full) || o.Action != conductor.DidEmit || !strings.Contains(err.Error(), "remote:r:000000000001 was asked") {
		t.Errorf("%+v, %v", o, err)
	}
}

// An unwritable log takes no line.
type unwritable struct {
	store.Log
	why error
}

func (u *unwritable) Append(context.Context, store.Key, store.Pos, []byte) (store.Pos, error) {
	return "", u.why
}
