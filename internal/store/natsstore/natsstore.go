// Package natsstore keeps the contract of package store on NATS JetStream.
//
// It is there to prove that the contract also fits something that is not a folder: every test of storetest passes on a
// JetStream server.
//
// Documents lie in two key-value buckets, one message a subject; log lines lie in two streams, one subject a log (see homes). A
// revision and a position are the sequence of a message and a mark that was made at random when it was written, so that those
// of a stream that was deleted and made anew are not confused. Every change of a document is one publication bound to the last
// sequence of its subject: of many, the server lets one through. A deletion leaves a marker, so that the chain of sequences is
// not broken. There is no rename: Move creates the target, which says where it came from, and then puts the marker in place of
// the source. A process that dies in between leaves both; for a message that was taken from the inbox the next reader finishes
// the move (see finishMove).
//
// All streams have one replica: what has been written is then what the next reader sees. Durability is the server's: the
// contract's promise for a power cut holds on one that syncs always. The store has its own limit for a value, the payload
// limit of the server less room for headers, and refuses what is longer before it sends it. Views and batches are left
// out, callers have store.ViewOf and Create.
package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

// DefaultLiveTTL is how long a document of the bucket "live" stays after its last write. 90 s is the value after which
// existing readers of a presence take a session for gone.
const DefaultLiveTTL = 90 * time.Second

// DefaultTimeout is how long one request to the server may take. A synced write takes less than a millisecond on an idle
// disk; this leaves room for a busy one.
const DefaultTimeout = 5 * time.Second

// headerRoom is how much of the payload limit is left for headers: two of them name a subject, whose parts have at most
// 200 bytes that take three each.
const headerRoom = 4 << 10

// Options are the choices of a store. The zero value is ready for use.
type Options struct {
	// Name begins the names of the streams: letters, digits, "-" and "_", at most 32. "" means "tutti". Stores of two
	// names do not see each other.
	Name string
	// LiveTTL is given to the bucket "live" when this store makes it; 0 means DefaultLiveTTL. One that is there keeps its own.
	LiveTTL time.Duration
	// Timeout bounds each request, 0 means DefaultTimeout. An operation has a handful of them, those that read a list or
	// a log one for each page.
	Timeout  time.Duration
	ReadOnly bool
	// Connect is added to the options of the connection: credentials, certificates, a server in this process.
	Connect []nats.Option
}

// A Store is one connection to a server.
type Store struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	opt  Options
	at   string        // the server's address, for errors
	done chan struct{} // closed by Close
	stop func()
	// between is called by Move after the target was created and before the source is deleted: tests cut it there.
	between func(ctx context.Context) error

	mu       sync.Mutex // guards watchers
	watchers map[*watcher]bool
}

var (
	_ store.Docs    = (*Store)(nil)
	_ store.Log     = (*Store)(nil)
	_ store.Leases  = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Ender   = (*Store)(nil)
)

// An UnreachableError reports that the server did not answer: the connection is lost, it took too long, or JetStream or
// a stream is not there. Whether a write has happened is then unknown; repeating it tells, because each is conditional
// but an Append after AnyEnd.
type UnreachableError struct {
	Server string // its address, without credentials
	Err    error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("server %s: %v", e.Server, e.Err) }

func (e *UnreachableError) Unwrap() error { return e.Err }

var (
	errClosed  = errors.New("the store was closed")
	errTimeout = errors.New("no answer in time")
)

// Open connects to a server, whose address begins with nats://, and makes the streams that are not there. A store for
// reading only makes none: ErrNotFound says that they are not there. The connection is made anew as often as it is
// lost; meanwhile every operation is an UnreachableError at once.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	o.Name = cmp.Or(o.Name, "tutti")
	if ok, err := regexp.MatchString(`^[A-Za-z0-9_-]{1,32}$`, o.Name); err != nil || !ok {
		return nil, fmt.Errorf("open store: invalid stream name %q", o.Name)
	}
	if o.LiveTTL <= 0 {
		o.LiveTTL = DefaultLiveTTL
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	s := &Store{opt: o, done: make(chan struct{}), watchers: map[*watcher]bool{}}
	s.stop = sync.OnceFunc(func() {
		close(s.done)
		s.nc.Close()
	})
	if err := s.connect(ctx, address); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Name, err)
	}
	for _, h := range homes {
		if err := s.ensure(ctx, h); err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("open store %s: stream %s: %w", o.Name, h.stream(o.Name), err)
		}
	}
	return s, nil
}

// connect makes the connection. Nothing is kept for sending while it is down: a write that was reported as failed must
// not happen later.
func (s *Store) connect(ctx context.Context, address string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address cannot be read") // and is not shown: it may hold a password
	}
	patience := s.opt.Timeout
	if end, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(end))
	}
	options := append([]nats.Option{
		nats.Name("tutti"), nats.Timeout(patience), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectBufSize(-1), nats.ReconnectHandler(func(*nats.Conn) { s.rescan() }),
		// The client's own handler prints to standard error. What it would tell is that messages were lost.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { s.rescan() }),
	}, s.opt.Connect...)
	if s.nc, err = nats.Connect(address, options...); err != nil {
		return &UnreachableError{Server: u.Redacted(), Err: err}
	}
	s.at = s.nc.ConnectedUrlRedacted()
	if s.js, err = jetstream.New(s.nc, jetstream.WithDefaultTimeout(s.opt.Timeout)); err != nil {
		s.nc.Close()
	}
	return err
}

// Close ends the connection and all watchers. It may be called more than once.
func (s *Store) Close() error {
	s.stop()
	return nil
}

// MaxValue is the largest document or line in bytes that the server lets through, whatever its kind allows.
func (s *Store) MaxValue() int64 { return s.nc.MaxPayload() - headerRoom }

// usable is the part of the door that asks nothing about keys.
func (s *Store) usable(ctx context.Context, write bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return errClosed
	default:
	}
	if write && s.opt.ReadOnly {
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
func (s *Store) checkSize(k store.Key, what string, size int) error {
	limit, whose := k.Kind.Spec().WriteLimit, "a "+k.Kind.String()+" has"
	if most := s.MaxValue(); most < limit {
		limit, whose = most, "this server takes"
	}
	if int64(size) <= limit {
		return nil
	}
	return fmt.Errorf("%s of %d bytes is too large: %s at most %d", what, size, whose, limit)
}

// fail names the operation and its object.
func fail(op string, k store.Key, err error) error {
	return fmt.Errorf("%s %s: %w", op, k, err)
}
