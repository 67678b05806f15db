package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/bus/follow"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	me    = address.Instance("claude:api:3f2a9c01b7de")
	other = address.Instance("codex:web:0a1b2c3d4e5f")
)

// A backend is what tests run on.
type backend interface {
	store.Docs
	store.Log
}

// A rig is an attendance, the bus around it, and the switch it asks. Everything ends with the test.
type rig struct {
	t     *testing.T
	s     backend
	a     *Attendance
	who   *presence.Presence // as others see it
	mail  *mailbox.Mailbox   // as others use it
	look  chan struct{}
	epoch atomic.Uint64
	halt  atomic.Bool
	skew  atomic.Int64 // of the attendance's clock, ns
	emit  atomic.Pointer[func(Push) error]

	mu   sync.Mutex
	told []string
	logs []string
}

func newRig(t *testing.T, s backend, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, s: s, who: presence.New(s), mail: mailbox.New(s), look: make(chan struct{}, 1)}
	r.epoch.Store(7)
	o := Options{
		Presence: presence.New(s), Mail: mailbox.New(s), Store: s,
		Switch: follow.Switch{Look: r.look, Read: func() halt.State { return halt.State{Halted: r.halt.Load()} }},
		Emit:   r.take, Now: r.now, Epoch: r.epoch.Load, Alive: func(pid int) bool { return pid != 4711 },
		Log: func(line string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logs = append(r.logs, line)
		},
	}
	if change != nil {
		change(&o)
	}
	r.a = New(o)
	t.Cleanup(func() { r.a.Leave(context.Background()) })
	return r
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) }

func (r *rig) take(p Push) error {
	if f := r.emit.Load(); f != nil {
		return (*f)(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf("%s %s %s", p.Session, p.Topic, p.Data))
	return nil
}

// heard returns what was told since the last call.
func (r *rig) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.told
	r.told = nil
	return out
}

func (r *rig) logged() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.logs
	r.logs = nil
	return out
}

func (r *rig) same(what string, got []string, want ...string) {
	r.t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.t.Fatalf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// want waits until everything is at rest and compares what was told since the last call. It is for tests with a fake clock.
func (r *rig) want(lines ...string) {
	r.t.Helper()
	synctest.Wait()
	r.same("pushes", r.heard(), lines...)
}

// sleep lets time pass, and then everything come to rest that is due by then.
func (r *rig) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantFresh wants the last heartbeat of sess:me to be no older than one should be.
func (r *rig) wantFresh() {
	r.t.Helper()
	s, err := r.who.Get(r.t.Context(), "sess:me")
	if err != nil {
		r.t.Fatal(err)
	}
	if presence.Expired(s, r.now(), presence.Heartbeat) {
		r.t.Errorf("the session is %s with a heartbeat of %s, want one not older than %v at %v", s.State, s.HeartbeatAt, presence.Heartbeat, r.now())
	}
}

func (r *rig) wantLog(lines ...string) {
	r.t.Helper()
	synctest.Wait()
	r.same("log", r.logged(), lines...)
}

func (r *rig) open(id address.SessionID) *presence.Session {
	r.t.Helper()
	s, _, err := r.a.Open(r.t.Context(), presence.Start{SessionID: id, Instance: me, PID: 1}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// peer opens a session of somebody else, which beats by itself only when told to.
func (r *rig) peer(id address.SessionID) *presence.Session {
	r.t.Helper()
	s, err := r.who.Open(r.t.Context(), presence.Start{SessionID: id, Instance: other, Host: "codex"}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) beat(s *presence.Session) *presence.Session {
	r.t.Helper()
	next, err := r.who.Beat(r.t.Context(), s, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return next
}

func (r *rig) close(s *presence.Session) {
	r.t.Helper()
	if err := r.who.Close(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
}

func message(id string) []byte {
	return fmt.Appendf(nil, `{"protocol":"sentropic.h2a","version":"0.1","type":"event","id":%q,"actor":{"instance":%q,"role":"AGENTS","scope":"scope:default"},`+
		`"target":{"instance":%q},"body":{"kind":"message","text":"hello"},"createdAt":"2026-06-01T12:00:00.000Z"}`, id, other, me)
}

func (r *rig) put(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if _, err := r.mail.Put(r.t.Context(), me, message(id)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func joined(to, id string) string {
	return fmt.Sprintf(`%s presence.peer_joined {"peer":{"sessionId":%q,"instance":%q,"host":"codex","interests":{"scopes":[],"negotiations":[]}}}`, to, id, other)
}

func left(to, id string) string {
	return fmt.Sprintf(`%s presence.peer_left {"peer":{"sessionId":%q}}`, to, id)
}

func arrived(to, id string) string {
	return fmt.Sprintf(`%s inbox.envelope_arrived {"instance":%q,"envelopeId":%q}`, to, me, id)
}

// old marks a line as one of the backlog.
func old(line string) string { return line[:len(line)-1] + `,"backlog":true}` }

func folder(t testing.TB) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "root"), filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fake runs a test with a clock that stands still while anything runs. Whatever still waits at its end fails it.
func fake(t *testing.T, change func(*Options), f func(t *testing.T, r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(t, newRig(t, memstore.New(memstore.Options{}), change))
	})
}

var errBroken = errors.New("broken")

// failing is a store whose documents can break.
type failing struct {
	*memstore.Store
	broken atomic.Bool
}

func (f *failing) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	if f.broken.Load() {
		return "", errBroken
	}
	return f.Store.Replace(ctx, k, data, old)
}

func (f *failing) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Store.Delete(ctx, k, old)
}
