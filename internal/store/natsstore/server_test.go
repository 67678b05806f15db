package natsstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tutti/internal/store"
)

var instances = store.Key{Kind: store.Instances}

// stocked is what fill has written and wantStock looks for.
type stocked struct {
	rev   store.Rev
	end   store.Pos
	lease store.Lease
}

func fill(t *testing.T, s *Store) (have stocked) {
	t.Helper()
	ctx := t.Context()
	var err error
	have.rev, err = s.Create(ctx, inbox, []byte(`"mail"`))
	check(t, err)
	taken := store.Key{Kind: store.Inbox, Owner: "a", Name: "taken"}
	rev, err := s.Create(ctx, taken, []byte(`"taken"`))
	check(t, err)
	check(t, s.Move(ctx, taken, rev, archived(taken)))
	for i := range 3 {
		have.end, err = s.Append(ctx, instances, have.end, fmt.Appendf(nil, "[%d]", i))
		check(t, err)
	}
	have.lease, err = s.Acquire(ctx, "watch", "me", time.Hour)
	check(t, err)
	return have
}

func wantStock(t *testing.T, s *Store, have stocked) {
	t.Helper()
	ctx := t.Context()
	if d, err := s.Get(ctx, inbox); err != nil || d.Rev != have.rev || string(d.Data) != `"mail"` {
		t.Errorf("Get: %q at %q, %v; want the mail at %q", d.Data, d.Rev, err, have.rev)
	}
	_, err := s.Create(ctx, store.Key{Kind: store.Inbox, Owner: "a", Name: "taken"}, []byte(`"taken"`))
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("Create what was taken: %v", err)
	}
	if end, err := s.End(ctx, instances); err != nil || end != have.end {
		t.Errorf("End: %q, %v; want %q", end, err, have.end)
	}
	if _, err := s.Acquire(ctx, "watch", "you", time.Hour); err == nil || !strings.Contains(err.Error(), "held by me") {
		t.Errorf("Acquire: %v, want it held by me", err)
	}
	if _, err := s.Renew(ctx, have.lease, time.Hour); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if _, err := s.Append(ctx, instances, have.end, []byte("[3]")); err != nil {
		t.Errorf("Append after the end: %v", err)
	}
}

// back waits until a store has found its server again.
func back(t *testing.T, s *Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := s.End(t.Context(), instances)
		if err == nil {
			return
		}
		if _, lost := errors.AsType[*UnreachableError](err); !lost || time.Now().After(end) {
			t.Fatalf("the server is back, and the store says %v", err)
		}
	}
}

// TestRestart: while the server is away everything says so at once, afterwards everything is as it was, nothing of what
// was refused happens later, and watchers go on.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.open(t, r.options())
	have := fill(t, s)
	changes, err := s.Watch(t.Context(), []store.Scope{{Kind: store.Presence}})
	check(t, err)
	r.stop()
	for s.nc.IsConnected() { // a request that is under way in this moment waits for its time to be over
		time.Sleep(time.Millisecond)
	}
	lost := store.Key{Kind: store.Presence, Name: "lost"}
	ctx, began := t.Context(), time.Now()
	_, getErr := s.Get(ctx, inbox)
	_, createErr := s.Create(ctx, lost, []byte("{}"))
	_, appendErr := s.Append(ctx, instances, store.AnyEnd, []byte("{}"))
	_, acquireErr := s.Acquire(ctx, "other", "me", time.Hour)
	_, renewErr := s.Renew(ctx, have.lease, time.Hour)
	_, watchErr := s.Watch(ctx, []store.Scope{{Kind: store.Presence}})
	errs := map[string]error{
		"Get": getErr, "Create": createErr, "Append": appendErr, "Acquire": acquireErr, "Renew": renewErr, "Watch": watchErr,
		"Move": s.Move(ctx, inbox, have.rev, archive), "Release": s.Release(ctx, have.lease),
	}
	for e, err := range s.List(ctx, store.Inbox, "a") {
		errs["List"] = errors.Join(errs["List"], err)
		if err == nil {
			t.Errorf("List without a server: %v", e)
		}
	}
	for l, err := range s.Read(ctx, instances, "") {
		errs["Read"] = err
		if err == nil {
			t.Errorf("Read without a server: %q", l.Data)
		}
	}
	if len(errs) != 10 {
		t.Errorf("a listing or a log that ends without a word: %v", errs)
	}
	for what, err := range errs {
		if _, unreachable := errors.AsType[*UnreachableError](err); !unreachable {
			t.Errorf("%s without a server: %v, want an UnreachableError", what, err)
		}
	}
	if d := time.Since(began); d > s.opt.Timeout/2 {
		t.Errorf("ten operations without a server took %s", d)
	}
	r.start()
	back(t, s)
	wantStock(t, s, have)
	if _, err := s.Get(ctx, lost); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get what could not be created: %v", err)
	}
	waitFor(t, changes, "the restart", func(c store.Change) bool { return c.Rescan })
	_, err = s.Create(ctx, lost, []byte("{}"))
	check(t, err)
	waitFor(t, changes, "a change after the restart", func(c store.Change) bool { return c.Key == lost || c.Rescan })
}

func waitFor(t *testing.T, changes <-chan store.Change, what string, is func(store.Change) bool) {
	t.Helper()
	for timeout := time.After(20 * time.Second); ; {
		select {
		case c, open := <-changes:
			if !open {
				t.Fatalf("%s: the channel was closed", what)
			}
			if is(c) {
				return
			}
		case <-timeout:
			t.Fatalf("%s: no hint", what)
		}
	}
}

// TestCopiedDisk: acknowledged writes are in the files, without a clean stop of the server.
func TestCopiedDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options()
	have := fill(t, r.open(t, o))
	copied := &rig{t: t, dir: t.TempDir()}
	check(t, os.CopyFS(copied.dir, os.DirFS(r.dir)))
	copied.start()
	t.Cleanup(copied.stop)
	o.Connect = []nats.Option{nats.InProcessServer(copied)}
	wantStock(t, copied.open(t, o), have)
}

// A stall is a way to the server on which nothing gets through while it is shut.
type stall struct {
	*rig
	shut atomic.Bool
}

func (p *stall) InProcessConn() (net.Conn, error) {
	c, err := p.rig.InProcessConn()
	return &stalled{c, p}, err
}

type stalled struct {
	net.Conn
	way *stall
}

func (c *stalled) Write(b []byte) (int, error) {
	if c.way.shut.Load() {
		return len(b), nil // as a network does that has lost it
	}
	return c.Conn.Write(b)
}

// TestSilentServer: the error says whose time ran out, the caller's or the request's.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	way := &stall{rig: r}
	o := r.options()
	o.Connect = []nats.Option{nats.InProcessServer(way)}
	s := r.open(t, o)
	s.opt.Timeout = 100 * time.Millisecond
	way.shut.Store(true)
	operations := map[string]func(ctx context.Context) error{
		"Get": func(ctx context.Context) error {
			_, err := s.Get(ctx, inbox)
			return err
		},
		"Create": func(ctx context.Context) error {
			_, err := s.Create(ctx, archive, []byte("{}"))
			return err
		},
		"List": func(ctx context.Context) error {
			for _, err := range s.List(ctx, store.Presence, "") {
				return err
			}
			return nil
		},
		"Read": func(ctx context.Context) error {
			for _, err := range s.Read(ctx, instances, "") {
				return err
			}
			return nil
		},
		"Watch": func(ctx context.Context) error {
			_, err := s.Watch(ctx, []store.Scope{{Kind: store.Presence}})
			return err
		},
	}
	for what, run := range operations {
		began := time.Now()
		err := run(t.Context())
		if _, lost := errors.AsType[*UnreachableError](err); !lost || !errors.Is(err, errTimeout) {
			t.Errorf("%s without an answer: %v, want an UnreachableError", what, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s without an answer took %s", what, d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s beyond the caller's time: %v", what, err)
		}
		cancel()
	}
}
