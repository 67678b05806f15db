// Package memstore is a store in memory with the manners of JetStream.
//
// It keeps the whole contract of package store, and keeps it the way a JetStream server would: a revision is a number
// that each write of a bucket raises, there is no rename and no lock, a key is spelled in the alphabet of subjects, a
// value has a size limit of the server's own, a deletion leaves a marker, and what is live goes away by age. It is the
// model that other backends are compared with step by step, and a store for tests that need none on a disk.
//
// Nothing in it survives the process. A restart is played by [Store.Reopen], a foreign program by [Store.Plant],
// [Store.PlantLine] and [Store.Recreate], a crash in the middle of a move by Options.Between.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tutti/internal/store"
)

// MaxPayload is the largest value in bytes, whatever the kind allows: the payload limit of the servers that we start.
const MaxPayload = 2 << 20

// DefaultLiveTTL is how long a document of the bucket "live" stays after its last write. 90 s is the value after which
// existing readers of a presence take a session for gone.
const DefaultLiveTTL = 90 * time.Second

// trailAge is how long a line of the stream "trail" stays.
const trailAge = 30 * 24 * time.Hour

// Options are the choices of a store. The zero value is ready for use.
type Options struct {
	Now     func() time.Time // the clock of the server, time.Now when nil
	LiveTTL time.Duration    // 0 means DefaultLiveTTL
	// Between is called by Move after the target was created and before the source is deleted. An error from it is
	// what Move returns, with nothing cleaned up, as if the program had died there.
	Between func(from, to store.Key) error
}

// A Store is one client's connection to a server in this process.
type Store struct {
	srv      *server
	opt      Options
	readOnly bool
	closed   atomic.Bool
}

var (
	_ store.Docs    = (*Store)(nil)
	_ store.Log     = (*Store)(nil)
	_ store.Leases  = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Viewer  = (*Store)(nil)
	_ store.Batcher = (*Store)(nil)
	_ store.Ender   = (*Store)(nil)
)

var errClosed = errors.New("the connection was closed")

// New starts an empty server and returns a connection to it.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LiveTTL <= 0 {
		o.LiveTTL = DefaultLiveTTL
	}
	return &Store{srv: newServer(o.Now, o.LiveTTL), opt: o}
}

// Reopen plays a restart of the program: s answers every later call with an error, its watchers end, and the store
// returned finds what was stored.
func (s *Store) Reopen() *Store {
	s.closed.Store(true)
	s.srv.endWatchers(s)
	return &Store{srv: s.srv, opt: s.opt, readOnly: s.readOnly}
}

// ReadOnly returns a second connection to the same server that may not write.
func (s *Store) ReadOnly() *Store {
	return &Store{srv: s.srv, opt: s.opt, readOnly: true}
}

// usable is the part of the door that asks nothing about keys.
func (s *Store) usable(ctx context.Context, write bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	if write && s.readOnly {
		return store.ErrReadOnly
	}
	return nil
}

// door is what every method on a document passes first.
func (s *Store) door(ctx context.Context, k store.Key, write bool) error {
	if err := k.Check(); err != nil {
		return err
	}
	if k.Kind.Spec().IsLog() {
		return fmt.Errorf("%s is a log, not a document", k.Kind)
	}
	return s.usable(ctx, write)
}

// logDoor is what every method on a log passes first.
func (s *Store) logDoor(ctx context.Context, k store.Key, write bool) error {
	if err := k.Check(); err != nil {
		return err
	}
	if !k.Kind.Spec().IsLog() {
		return fmt.Errorf("%s is a document, not a log", k.Kind)
	}
	return s.usable(ctx, write)
}

// checkSize refuses what is longer than the kind or the server allows.
func checkSize(k store.Key, what string, size int) error {
	limit := min(k.Kind.Spec().WriteLimit, MaxPayload)
	if int64(size) <= limit {
		return nil
	}
	return fmt.Errorf("%s of %d bytes is too large: a %s has at most %d", what, size, k.Kind, limit)
}

// fail names the operation and its object.
func fail(op string, k store.Key, err error) error {
	return fmt.Errorf("%s %s: %w", op, k, err)
}
