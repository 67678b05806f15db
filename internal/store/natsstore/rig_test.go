package natsstore

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tutti/internal/store"
)

// maxValue is the largest value that the servers of these tests let through: what a server of ours would be given.
const maxValue = 2 << 20

// A rig is a server in this process that can be started again on what it has stored. Nothing listens.
type rig struct {
	t       testing.TB
	dir     string
	payload int32 // of the server, 0 for that of one of ours
	names   atomic.Int64

	mu     sync.Mutex // guards server
	server *server.Server
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, dir: t.TempDir()}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	s, err := server.NewServer(&server.Options{
		ServerName: "test", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: r.dir, SyncAlways: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 2 << 30,
		MaxPayload: cmp.Or(r.payload, maxValue+headerRoom),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s.SetLogger(&serverLog{r.t}, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		r.t.Fatal("the server does not start")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = s
}

// A serverLog says on standard error what a server complains of: its answers name a fault, and only its log the reason.
type serverLog struct{ testing.TB }

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, args ...any) {
	if strings.Contains(format, "failed") {
		l.Errorf(format, args...)
	}
}

func (l *serverLog) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "the server of %s: %s\n", l.Name(), fmt.Sprintf(format, args...))
}

func (l *serverLog) Fatalf(format string, args ...any) { l.Errorf(format, args...) }

func (r *rig) stop() {
	r.mu.Lock()
	s := r.server
	r.server = nil
	r.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// InProcessConn connects to the server that runs now.
func (r *rig) InProcessConn() (net.Conn, error) {
	r.mu.Lock()
	s := r.server
	r.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("the server is down")
	}
	return s.InProcessConn()
}

// patience is how long a request may take on a disk that is busy with other things.
const patience = 20 * time.Second

// options are those of a store that no other test sees.
func (r *rig) options() Options {
	return Options{Name: fmt.Sprint("t", r.names.Add(1)), Timeout: patience, Connect: []nats.Option{nats.InProcessServer(r)}}
}

func (r *rig) open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// store opens a new store, whose streams are gone at the end of t.
func (r *rig) store(t testing.TB) *Store {
	t.Helper()
	o := r.options()
	t.Cleanup(func() {
		last := r.open(t, o)
		defer last.Close()
		for _, h := range homes {
			if err := last.js.DeleteStream(context.Background(), h.stream(o.Name)); err != nil {
				t.Error(err)
			}
		}
	})
	return r.open(t, o)
}

// plant publishes as a foreign program does that knows no rule.
func (s *Store) plant(t testing.TB, k store.Key, data []byte) {
	t.Helper()
	subject := homeOf(k.Kind).prefix(s.opt.Name) + k.Subject()
	if _, err := s.js.Publish(context.Background(), subject, data); err != nil {
		t.Fatalf("publish to %s: %v", subject, err)
	}
}

// anew deletes a stream and makes it again, so that its sequences begin at 1.
func (s *Store) anew(t testing.TB, h home) {
	t.Helper()
	ctx := context.Background()
	if err := s.js.DeleteStream(ctx, h.stream(s.opt.Name)); err != nil {
		t.Fatal(err)
	}
	if err := s.ensure(ctx, h); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
