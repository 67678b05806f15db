package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/app/full"
	"tutti/internal/attention/live"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/follow"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/agreement"
	"tutti/internal/halt"
)

// A server is one connection of one agent program.
type server struct {
	o     options
	app   *app.App
	facts *identity.Facts
	log   func(string)
	cli   string // release of the program
	pid   int
	wire  *wire.Server

	thread  atomic.Pointer[string]  // conversation of the agent, as its calls or its hooks name it; nil: not known
	knocks  atomic.Pointer[knocker] // wakes the agent; nil: nothing does
	cleared atomic.Bool             // a halt was cleared, and the agent has not been told
	waking  func() *config.Wake     // the settings, as they were when they were first asked for
	begun   chan struct{}           // closed when the agent is connected, or could not be
	left    sync.Once
	opening sync.Mutex // held while the bus is opened

	connecting sync.Mutex // held while the agent is connected, before opening

	mu         sync.Mutex // guards what follows; a leaf
	bus        *bus       // nil until it is open
	over       bool
	connected  bool             // the session of the start was opened; it may be closed again
	tried      time.Time        // when that was tried last
	own        address.Instance // of the flag, or connected at start
	opened     address.Instance // of the session that was opened last
	talk       string           // conversation of the agent, by the id that hooks give; "": not known
	unnamed    *wake.Socket     // where a hook names the conversation of a server that has no agent yet
	registered address.Instance // that was registered here before there was any of these
}

// A bus is what tools work on.
type bus struct {
	*app.World
	office  *mail.Service
	agree   *agreement.Bus
	attend  *live.Attendance
	absent  *wake.Absent       // agents without a connection that it has written to
	unlease context.CancelFunc // ends the looking after leases
	unlook  func()             // ends the look-out for the halt switch
	place   app.OpenedRoot     // the folder that is open
}

func newServer(s *full.Service, o options, log func(string)) *server {
	v := &server{o: o, app: s.App, facts: s.App.Facts(), log: log, cli: s.Version, pid: os.Getpid(), begun: make(chan struct{}), own: o.instance}
	v.waking = sync.OnceValue(v.readWaking)
	return v
}

// begin opens the bus and connects the agent, if that was asked for. What fails is said, and tried again by the calls that
// come.
func (v *server) begin(ctx context.Context) {
	defer close(v.begun)
	var err error
	if v.o.autoOpen {
		err = v.connect(ctx, false)
	} else {
		_, err = v.world(ctx)
	}
	if err != nil {
		v.log(withHint(err))
	}
}

// retryAfter is how long what failed at the start is left alone, so that an agent in a hurry does not try for every call.
const retryAfter = 5 * time.Second

// connect opens the session of the start unless it was opened, or was tried a moment ago.
func (v *server) connect(ctx context.Context, called bool) error {
	v.connecting.Lock()
	defer v.connecting.Unlock()
	v.mu.Lock()
	settled := v.connected || time.Since(v.tried) < retryAfter && !(called && v.unnamed != nil)
	if !settled {
		v.tried = time.Now()
	}
	v.mu.Unlock()
	if settled {
		return nil
	}
	err := v.autoOpen(ctx, called)
	if errors.Is(err, identity.ErrUnnamed) {
		v.awaitName()
	}
	if err != nil {
		return fmt.Errorf("no session was opened: %w", err)
	}
	v.isNamed()
	v.mu.Lock()
	v.connected = true
	v.mu.Unlock()
	return nil
}

// errOver ends calls that come when the server is about to end.
var errOver = errors.New("the server is about to end")

// world returns the bus, and opens it if it is there. With --auto-open it is made where there is none, as connect does.
func (v *server) world(ctx context.Context) (*bus, error) {
	v.opening.Lock()
	defer v.opening.Unlock()
	v.mu.Lock()
	b, over := v.bus, v.over
	v.mu.Unlock()
	if b != nil || over {
		if over {
			return nil, errOver
		}
		return b, nil
	}
	w, err := v.openWorld(ctx)
	if err != nil {
		return nil, err
	}
	if v.o.instance != "" {
		err = w.Identity.ServeAs(ctx, v.facts, v.o.instance, time.Now())
	}
	if err == nil {
		b, err = v.equip(w)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		b.unlook()
		b.unlease()
		return nil, errors.Join(errOver, w.Close())
	}
	v.bus = b
	return b, nil
}

func (v *server) openWorld(ctx context.Context) (*app.World, error) {
	if v.o.autoOpen {
		return v.app.Join(ctx, v.log)
	}
	if _, err := v.app.Root(); err != nil {
		return nil, err
	}
	v.app.TellPassed(v.log)
	return v.app.World(app.Writing)
}

// equip puts the parts that act into a bus.
func (v *server) equip(w *app.World) (*bus, error) {
	office, err := w.MailService()
	if err != nil {
		return nil, err
	}
	w.Presence.TTL = v.o.expiry
	look, unlook := v.app.HaltLook()
	b := &bus{World: w, office: office, agree: full.Agreements(w), unlook: unlook, place: w.OpenedRoot()}
	b.absent = v.newAbsent(b)
	var looking context.Context
	looking, b.unlease = context.WithCancel(context.Background())
	b.absent.Work(func() { v.watchLeases(looking, b) })
	b.attend = live.New(live.Options{
		Presence: w.Presence, Mail: w.Mail, Store: w.Store, Switch: follow.Switch{Read: halt.Settled, Look: look},
		Emit: v.push, Ready: v.wire.Spoken(), Log: v.log, Heartbeat: v.o.heartbeat, Engaged: b.office.Engaged, Standing: w.Registry.Standing,
		Wake:  func(s *presence.Session, may func() bool) live.Waker { return v.companion(b, s, may) },
		Deals: func(s *presence.Session) live.Deals { return b.agree.Follow(s.Instance, s.Interests.Negotiations) },
	})
	return b, nil
}

// astray tells whether the bus that is open still lies where it was found.
func (b *bus) astray() error {
	err := b.place.Astray()
	stray, ok := errors.AsType[*app.StrayError](err)
	switch {
	case !ok:
		return err
	case stray.Replaced:
		return &refusal{err.Error(), "this server has to be started again to use that one: ask your user"}
	}
	return &refusal{err.Error(), "the bus was moved or removed while it was in use: ask your user; when it is back in place, this server goes on"}
}

// A pushed is a notification to the client.
type pushed struct {
	Topic     string          `json:"topic"`
	SessionID string          `json:"sessionId"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// push tells the client what a session is to know.
func (v *server) push(p live.Push) error {
	return v.wire.Notify("notifications/h2a", render.JSON(pushed{p.Topic, string(p.Session), p.Data}))
}

// active notes that the agent did something.
func (v *server) active() {
	v.mu.Lock()
	b := v.bus
	v.mu.Unlock()
	if b == nil {
		return
	}
	for _, s := range b.attend.Sessions() {
		b.attend.Active(s.SessionID)
	}
}

// leave closes the sessions, once; a second caller waits for that. Calls in hand may go on meanwhile.
func (v *server) leave() {
	v.left.Do(func() {
		v.mu.Lock()
		b := v.bus
		v.over = true
		v.mu.Unlock()
		if b == nil {
			return
		}
		v.isNamed()
		ctx, cancel := context.WithTimeout(context.Background(), leaveFor)
		defer cancel()
		b.attend.Leave(ctx)
		b.unlease()
		v.sweepLeases(ctx, b) // those that were tied to the sessions that are closed
		b.absent.Leave(ctx)
	})
}

// close gives the bus back after the last call.
func (v *server) close() {
	v.leave()
	v.mu.Lock()
	b := v.bus
	v.bus = nil
	v.mu.Unlock()
	if b == nil {
		return
	}
	b.unlook()
	if err := b.Close(); err != nil {
		v.log(err.Error())
	}
}

// withHint is an error with what to do about it, in one line.
func withHint(err error) string {
	text := err.Error()
	if hint := hintOf(err); hint != "" {
		text += "; " + strings.ReplaceAll(hint, "\n", "; ")
	}
	return text
}

// printable leaves out what a terminal would obey: lines may hold names from the bus.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
