package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/platform/proc"
)

// A Kind says what an [Event] is about.
type Kind uint8

const (
	Changed Kind = iota + 1 // a session came or went, or a program ended: look again
	Renamed                 // a session has another name: look again
	Exit                    // the server is not watched any more; the last event
)

func (k Kind) String() string {
	switch k {
	case Changed:
		return "changed"
	case Renamed:
		return "renamed"
	case Exit:
		return "exit"
	}
	return "kind " + strconv.Itoa(int(k))
}

// ErrCrashed reports a server that went away without ending its sessions: programs may live on without a terminal.
var ErrCrashed = errors.New("the tmux server crashed")

// An Event says that a look at the server is worth while.
type Event struct {
	Kind Kind
	Err  error // of Exit: nil when the server ended in order, ErrCrashed, or why it cannot be watched, and may be there still
}

// A Watcher tells within moments that something on a server has changed: a session was made, ended or renamed, or the program
// in a pane has ended. It is one client of tmux that waits; as long as nothing of the kind happens nothing wakes up, whatever the
// programs print.
//
// The client does not attach to a session, and is none in control mode: to a session of the user that would be a guest who
// counts, and a server of the version 3.3a crashes when it has news for a client in control mode that is just coming. It waits
// for signals that the server gives itself, by hooks of its own under a number that nothing else uses. They stay, and do
// nothing when no one waits.
type Watcher struct {
	// C has the events; one stands for all that happened until it was taken. A look that is made after an event was taken shows
	// everything before the event, and later changes cause a new event. It is closed after Exit and by Close.
	C <-chan Event

	s       Server
	events  chan Event
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	done    chan struct{} // closed when everything is over
	pid     int           // of the server; 0 before the first answer
	started int64         // of the server, seconds since 1970

	ended chan int       // pids of programs that have ended, some time after the server should have noticed
	ends  sync.WaitGroup // of those who wait for the ends of programs
	wakes atomic.Int64   // how often the wait came to its end
}

// Watch begins to watch the server, until the context ends or Close is called. Everything that happens after Watch has returned
// is reported. ErrAbsent: no server runs. Any other error: not known.
func (s Server) Watch(ctx context.Context) (*Watcher, error) {
	w := &Watcher{s: s, events: make(chan Event), done: make(chan struct{}), ended: make(chan int)}
	w.C = w.events
	w.ctx, w.stop = context.WithCancel(ctx)
	first, err := w.settled()
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("watch tmux server %s: %w", s, err)
	}
	go func() {
		defer close(w.done)
		defer close(w.events)
		defer w.stop()
		if err, closed := w.follow(first); !closed {
			w.send(Event{Kind: Exit, Err: err})
		}
	}()
	return w, nil
}

// Close ends the watch, and returns when nothing of it is left in this process. It may be called more than once.
func (w *Watcher) Close() {
	w.stop()
	<-w.done
}

// follow waits, tells and waits again, until the server cannot be watched any more or the watch is closed.
func (w *Watcher) follow(now *waiter) (err error, closed bool) {
	held := map[int]func(){}
	defer w.ends.Wait()
	defer func() {
		for _, stop := range held {
			stop()
		}
	}()
	ctx, cancel := context.WithCancel(w.ctx) // of those who wait for ends
	defer cancel()
	for {
		w.hold(ctx, held, now.seen)
		select {
		case <-w.ctx.Done():
			<-now.over
			return nil, true
		case pid := <-w.ended:
			if _, ok := held[pid]; !ok {
				continue // the server has told
			}
			if _, err := proc.Of(w.pid); err != nil { // the server has ended, too, and the client is about to say how
				<-now.over
				break
			}
			now.end() // the hooks are not what they were: the next sets them anew
			<-now.over
			now.err = nil
		case <-now.over:
		}
		w.wakes.Add(1)
		next, err := w.again(now)
		if w.ctx.Err() != nil {
			if next != nil {
				<-next.over
			}
			return nil, true
		}
		if err != nil {
			if errors.Is(err, ErrAbsent) { // how it ended its last client tells
				err = now.crash()
			}
			return err, false
		}
		for _, k := range news(now.seen, next.seen) {
			if !w.send(Event{Kind: k}) {
				<-next.over
				return nil, true
			}
		}
		now = next
	}
}

// If so many waits end without a signal in so much time, as when the client is killed, that is not an accident.
const (
	maxFailures   = 10
	failureWindow = 10 * time.Second
)

// settled waits; a server that is about to go is asked until it has gone.
func (w *Watcher) settled() (v *waiter, err error) {
	err = whileEnding(w.ctx, Limit, func() error {
		v, err = w.wait()
		return err
	})
	return v, err
}

// again waits anew.
func (w *Watcher) again(before *waiter) (*waiter, error) {
	next, err := w.settled()
	if err != nil || before.err == nil {
		return next, err
	}
	next.failures = append(before.failures, time.Now())
	if n := len(next.failures); n > maxFailures && next.failures[n-1].Sub(next.failures[n-1-maxFailures]) < failureWindow {
		next.end()
		<-next.over
		return nil, before.err
	}
	return next, nil
}

// news compares two looks. A wake-up always yields an event: when nothing is to be seen it has come and gone.
func news(before, now map[string]seen) []Kind {
	renamed, changed := false, len(before) != len(now)
	for id, was := range before {
		is, ok := now[id]
		renamed = renamed || ok && is.name != was.name
		changed = changed || !ok || is.pid != was.pid || is.dead != was.dead
	}
	switch {
	case renamed && changed:
		return []Kind{Renamed, Changed}
	case renamed:
		return []Kind{Renamed}
	}
	return []Kind{Changed}
}

func (w *Watcher) send(e Event) bool {
	select {
	case w.events <- e:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// hold waits for the ends of the first programs of all panes, as far as the system can, since a server may miss one; see nudge.
func (w *Watcher) hold(ctx context.Context, held map[int]func(), panes map[string]seen) {
	now := map[int]bool{}
	for _, p := range panes {
		switch {
		case p.dead == "":
			now[p.pid] = true
		case p.dead == dead: // and it is not known how
			nudge(w.pid)
		}
	}
	for pid, stop := range held {
		if !now[pid] {
			stop()
			delete(held, pid)
		}
	}
	for pid := range now {
		if _, ok := held[pid]; ok || !canHold {
			continue
		}
		ended, stop, err := ending(pid)
		if err != nil {
			continue // it has ended; the server tells
		}
		held[pid] = stop
		w.ends.Go(func() {
			if ended() {
				w.reap(ctx, pid)
			}
		})
	}
}

// reap makes the server look for ended programs, and once more a little later: the helper that makes signals get lost may run
// just now.
func (w *Watcher) reap(ctx context.Context, pid int) {
	for _, pause := range []time.Duration{0, 10 * time.Millisecond, 30 * time.Millisecond} {
		select {
		case <-time.After(pause):
			nudge(w.pid)
		case <-ctx.Done():
			return
		}
	}
	select {
	case w.ended <- pid:
	case <-ctx.Done():
	}
}
