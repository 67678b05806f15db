// Package live keeps the sessions of one process present on the bus, and tells each of them what happens around it.
//
// A session that was opened here is kept by a heartbeat until it is closed. One that was swept is made again; one that was
// closed by an agent with the right to do so stays closed, and so is one whose name another agent has taken: its heartbeat and
// its pushes end, and the log says so. All heartbeats of the process come from one timer, and that is also what asks for the
// full looks of package follow. Beside them an idle process wakes up only to look at negotiations, every 5 s and when a journal
// grows.
//
// A push reports that a peer joined, that a peer left, that a message is in the mailbox, or that a peer is blocked, or not any
// more, in a scope that the session follows. Each change is pushed once in the life of a session: what is there when the
// session opens is its backlog and is marked as that; it is not pushed again when the session was swept, or when the watch had
// to begin anew. Pushes of one look come in the order joined, left, mail, blocked, unblocked. A push is a hint and proves
// nothing; that it went out is recorded in the trail of the message as the step "pushed". The waker gets the same messages,
// also if the session has not subscribed; of the backlog only what came while the session was being opened, because its sender
// may have seen it live. Nothing is pushed before the agent can receive it: whether the user lets pushes go out is asked when
// they go, not when they are kept. Additions of others to a negotiation of the agent between two looks are pushed once, however
// much it is.
//
// While the halt switch is on nothing is pushed and heartbeats go on, so that a pause declares no agent dead. When the switch
// was cleared pushes stay off until [Attendance.Engage]: the user has let the agent go on. What came meanwhile is not pushed
// then, because the caller that engages an agent shows it its mail. A session that is opened while the switch is on starts in
// this state.
//
// A process that was stopped, or slept with its machine, is present again with the first tick of its timer. Its peers may have
// slept as well, so for one heartbeat after such a gap no agent counts as gone because its heartbeat is too old.
package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tutti/internal/bus/follow"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

// MaxSessions is how many sessions one process holds at a time: one is the rule, and each costs a write every heartbeat and
// a look at every peer.
const MaxSessions = 64

var (
	// ErrHeld reports a session id that this process has open.
	ErrHeld = errors.New("this process has the session open already")
	// ErrFull reports that MaxSessions are open.
	ErrFull = fmt.Errorf("this process has %d sessions open, and no more are possible", MaxSessions)
	// ErrLeft reports an attendance that is over.
	ErrLeft = errors.New("this process is about to end")
)

// Options say what is attended. Presence, Mail, Store, Switch.Read and Emit are needed.
type Options struct {
	Presence *presence.Presence
	Mail     *mailbox.Mailbox
	Store    follow.Store
	Switch   follow.Switch // Look serves this attendance alone
	// Emit takes a push to the agent. It is called by several goroutines, in order for each session. As long as it blocks
	// the pushes of that session wait, and nothing else does. A push whose Emit fails is lost.
	Emit func(Push) error
	// Ready is closed when the agent can be told; nothing is pushed before. Nil: at once.
	Ready <-chan struct{}
	Log   func(line string) // for people; nil: nowhere
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Heartbeat is the time between two heartbeats; 0: presence.Heartbeat.
	Heartbeat time.Duration
	// Epoch counts the halts of this user; nil: halt.Epoch.
	Epoch func() uint64
	// Engaged tells whether the user of an agent has let it go on after the last halt in another program, as at a terminal.
	// It is asked when something would be pushed and this process does not know. Nil: nowhere else.
	Engaged func(ctx context.Context, i address.Instance) (bool, error)
	// Wake makes what wakes the agent of a session when mail comes, with a function that reports whether it may be woken now.
	// nil: no waking in this session. Nil: in none.
	Wake func(s *presence.Session, may func() bool) Waker
	// Standing returns an error for a retired agent: no session of it is opened, and one that is open ends with its next
	// heartbeat. Nil: none ever is.
	Standing func(ctx context.Context, i address.Instance) error
	// Deals follows the negotiations that concern a session. Nil: none are followed.
	Deals func(s *presence.Session) Deals
	// DealsEvery is the time between two looks at them where no watcher tells that a journal has grown; 0: dealsEvery, or Heartbeat if that
	// is less.
	DealsEvery time.Duration
	// Alive tells whether this machine has a process of this pid; nil: package proc is asked.
	Alive func(pid int) bool
}

// A Push is one notification of a session.
type Push struct {
	Topic   string
	Session address.SessionID // the recipient
	Data    []byte            // a JSON object on one line
}

// A Waker gets the events that matter for waking one agent. Its functions do not block.
type Waker interface {
	Mail() // a message came that is not backlog
	Halt() // the switch is on: no waking before mail comes that the agent may see
	Close()
}

// An Attendance is the sessions of one process. It is safe for concurrent use.
type Attendance struct {
	o     Options
	end   context.Context // done when it is over
	over  context.CancelFunc
	work  sync.WaitGroup // every goroutine that was started
	begin sync.Once      // the goroutines that serve all sessions
	clock clock
	notes notes

	mu   sync.Mutex // guards what follows; a leaf: nothing is called under it
	held []*held    // oldest first
	left bool
}

// New returns an attendance without sessions. Nothing runs before the first one is opened.
func New(o Options) *Attendance {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = presence.Heartbeat
	}
	if o.DealsEvery <= 0 {
		o.DealsEvery = min(dealsEvery, o.Heartbeat)
	}
	if o.Epoch == nil {
		o.Epoch = halt.Epoch
	}
	if o.Alive == nil {
		o.Alive = alive
	}
	a := &Attendance{o: o, notes: notes{wake: make(chan struct{}, 1)}}
	if a.o.Standing == nil {
		a.o.Standing = func(context.Context, address.Instance) error { return nil }
	}
	a.end, a.over = context.WithCancel(context.Background())
	return a
}

// alive reports whether there is such a process, of any user.
func alive(pid int) bool {
	_, err := proc.Of(pid)
	return !errors.Is(err, proc.ErrGone)
}

// Open begins a session and keeps it until it is closed. extra are members of its record beyond those of s. Sessions of the
// same agent whose process is gone are taken away first. Beside the session it returns the others that are there.
//
// ErrHeld: this process has that id. ErrFull, ErrLeft: see there. Other errors are those of package presence.
func (a *Attendance) Open(ctx context.Context, s presence.Start, extra map[string][]byte) (own *presence.Session, peers []*presence.Session, err error) {
	if s.SessionID == "" {
		s.SessionID = address.NewSession()
	}
	h, err := a.reserve(s.SessionID)
	if err != nil {
		return nil, nil, fmt.Errorf("open session %q: %w", s.SessionID, err)
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	if own, err = a.write(ctx, s, extra); err != nil {
		a.endOf(h)
		return nil, nil, err
	}
	h.setSession(own)
	if peers, err = a.start(ctx, h); err != nil {
		a.endOf(h)
		err = fmt.Errorf("open session %q: %w", s.SessionID, err)
		return nil, nil, errors.Join(err, a.o.Presence.Close(context.WithoutCancel(ctx), own))
	}
	return own, peers, nil
}

// write makes the record of a session.
func (a *Attendance) write(ctx context.Context, s presence.Start, extra map[string][]byte) (*presence.Session, error) {
	if err := a.o.Standing(ctx, s.Instance); err != nil {
		return nil, fmt.Errorf("open session %q: %w", s.SessionID, err)
	}
	gone, err := a.o.Presence.Reap(ctx, s.Instance, s.SessionID, a.o.Alive)
	if err != nil {
		a.o.Log(fmt.Sprintf("old sessions of %s stay: %v", s.Instance, err))
	}
	for _, dead := range gone {
		a.o.Log(fmt.Sprintf("took away session %s: its process %d is gone", dead.SessionID, dead.PID))
	}
	s.Extra = a.withOwner(s.PID, extra)
	return a.o.Presence.Open(ctx, s, a.o.Now())
}

// withOwner adds the process that owns a session to its extra members, so that others can tell when it has ended. One that is not there
// now, on this machine, is not named.
func (a *Attendance) withOwner(pid int, extra map[string][]byte) map[string][]byte {
	id, err := proc.Of(pid)
	if err != nil {
		return extra
	}
	all := maps.Clone(extra)
	if all == nil {
		all = map[string][]byte{}
	}
	maps.Copy(all, presence.OwnerMembers(id, proc.Space()))
	return all
}

// start begins the heartbeat and the pushes of a session, and returns the others that are there. What comes after it is news
// to the session.
func (a *Attendance) start(ctx context.Context, h *held) ([]*presence.Session, error) {
	h.epoch.Store(a.o.Epoch())
	if h.epoch.Load() == halt.UnknownEpoch {
		a.o.Log("nothing will be pushed: the counter of halts cannot be read, so it is unknown whether one was cleared")
	}
	h.readSwitch()
	p := newPushes(h)
	if err := a.run(h, p); err != nil {
		return nil, err
	}
	select {
	case first := <-p.ready:
		if first != nil {
			return first, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all, err := a.o.Presence.Fresh(ctx, a.o.Now())
	return slices.DeleteFunc(all, func(p *presence.Session) bool { return p.SessionID == h.id }), err
}

// run starts the goroutine of a session, and with the first one those that serve all.
func (a *Attendance) run(h *held, p *pushes) error {
	ctx, stop := context.WithCancel(a.end)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left {
		stop()
		close(h.done)
		return ErrLeft
	}
	h.stop = stop
	a.begin.Do(func() {
		a.clock.tick(a.o.Now(), a.o.Heartbeat)
		a.work.Go(a.keep)
		a.work.Go(a.note)
	})
	if d := a.o.Deals; d != nil && slices.Contains(h.session().Topics, EntriesAppended) {
		a.work.Go(func() { h.followDeals(ctx, d(h.session())) })
	}
	a.work.Go(func() {
		defer close(h.done)
		if a.o.Wake != nil {
			if w := a.o.Wake(h.session(), h.mayPush); w != nil {
				p.waker = w
				defer w.Close()
			}
		}
		p.run(ctx)
	})
	return nil
}

// Close ends a session of this process: closed and expired take its record away, any other state stays in the record, which
// expires without its heartbeat. When it returns nothing more is pushed, unless ctx was done before. held tells whether
// this process had the session; nothing happens when it had not. It must not be called by Emit.
func (a *Attendance) Close(ctx context.Context, id address.SessionID, state string) (s *presence.Session, held bool, err error) {
	h := a.find(id)
	if h == nil {
		return nil, false, nil
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	if h.ended {
		return nil, false, nil
	}
	s = h.session()
	if state == "" {
		state = presence.Closed
	}
	change := presence.Change{State: state}
	if state == presence.Closed || state == presence.StateExpired {
		err = a.o.Presence.Close(ctx, s)
		s = s.With(change)
	} else {
		s, err = a.o.Presence.Patch(ctx, s, change, a.o.Now())
	}
	if err != nil {
		return nil, true, err
	}
	a.endOf(h)
	select {
	case <-h.done:
	case <-ctx.Done():
	}
	return s, true, nil
}

// Sessions returns the sessions that this process holds, oldest first, each as it was written last.
func (a *Attendance) Sessions() []*presence.Session {
	var out []*presence.Session
	for _, h := range a.all() {
		if s := h.session(); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// Active says that the agent of a session has done something. It is in the record with the next heartbeat.
func (a *Attendance) Active(id address.SessionID) {
	if h := a.find(id); h != nil {
		h.active.Store(a.o.Now().UnixNano())
	}
}

// Note sets members of the record of a session that others know nothing of, at once. It does not wait for that to be written.
func (a *Attendance) Note(id address.SessionID, members map[string][]byte) {
	h := a.find(id)
	if h == nil {
		return
	}
	h.mu.Lock()
	if h.extra == nil {
		h.extra = map[string][]byte{}
	}
	maps.Copy(h.extra, members)
	h.mu.Unlock()
	a.ActiveNow(id)
}

// ActiveNow is Active for what the other connections of the agent have to know at once, because one of them is woken by it. It does not
// wait for the record to be written.
func (a *Attendance) ActiveNow(id address.SessionID) {
	h := a.find(id)
	if h == nil {
		return
	}
	h.active.Store(a.o.Now().UnixNano())
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.left && h.hurried.CompareAndSwap(false, true) {
		a.work.Go(func() {
			h.hurried.Store(false)
			h.beat()
		})
	}
}

// Leave closes all sessions and ends everything that was started. Where the store or Emit does not come back it waits until
// ctx is done. Later calls wait in the same way and do nothing else.
func (a *Attendance) Leave(ctx context.Context) {
	a.mu.Lock()
	first := !a.left
	a.left = true
	for _, h := range a.held {
		h.stop()
	}
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if first {
			a.closeAll(ctx)
		}
		a.work.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		a.over() // and what hangs in the store is given up
	}
}

// closeAll closes the sessions. A heartbeat that is under way comes first.
func (a *Attendance) closeAll(ctx context.Context) {
	for _, h := range a.all() {
		if _, _, err := a.Close(ctx, h.id, presence.Closed); err != nil {
			a.o.Log(fmt.Sprintf("session %s stays until it expires: %v", h.id, err))
		}
	}
	a.over()
}
