package fswatch

import (
	"path/filepath"
	"sync"
	"time"
)

// defaultPending bounds the names that wait for a subscriber.
const defaultPending = 1024

// A Sub is a subscription to one folder.
type Sub struct {
	// C delivers the events. It is closed by Close, and when the watcher it came from is closed.
	C <-chan Event

	path  string // as the subscriber named it
	abs   string // the same, whatever becomes of the working directory
	o     Options
	leave func(*Sub) // takes the subscription from its watcher; nil when there is none

	signal     chan struct{} // of Notify: gets a signal instead of events; closed when the watcher is lost
	attributes bool          // of Notify: changes of mode count too

	c    chan Event
	wake chan struct{} // buffered 1: the queue has something
	done chan struct{}
	end  sync.Once
	work sync.WaitGroup // pump and poller

	mu     sync.Mutex // guards what follows; a leaf: nothing else is locked or called under it
	queue  queue
	polled bool
	reason error
	over   bool // Close was called
}

func newSub(path string, o Options) *Sub {
	if o.Pending <= 0 {
		o.Pending = defaultPending
	}
	s := &Sub{
		path: path, abs: absolute(path), o: o,
		c: make(chan Event), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.C = s.c
	s.work.Go(s.pump)
	return s
}

// newSignal makes a subscription that only says "look", for one name.
func newSignal(dir, name string) *Sub {
	return &Sub{
		path:       dir,
		abs:        absolute(dir),
		o:          Options{Names: func(n string) bool { return n == name }},
		signal:     make(chan struct{}, 1),
		attributes: true,
		done:       make(chan struct{}),
	}
}

// absolute returns path as seen from the root, or as it is in a working directory that is gone.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Path returns the folder as the subscriber named it.
func (s *Sub) Path() string { return s.path }

// Polled tells that the folder is listed now and then because there is no kernel watcher for it.
func (s *Sub) Polled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polled
}

// Reason returns why the folder is polled, an error that wraps [ErrNoWatcher] as a rule; nil when it is
// not, or when the caller asked for it.
func (s *Sub) Reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Close ends the subscription and closes C. It waits for the goroutine that feeds C, and may be
// called by the one that takes from it, and more than once.
func (s *Sub) Close() {
	if s.leave != nil {
		s.leave(s)
	}
	s.finish()
	s.work.Wait()
}

// finish tells the goroutines of s to end, without waiting for them.
func (s *Sub) finish() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.end.Do(func() { close(s.done) })
}

// offer gives s an event of the folder. It never blocks.
func (s *Sub) offer(op Op, name string, dir bool) {
	if !op.Rescan() {
		if op = s.o.wants(op, name); op == 0 {
			return
		}
	}
	if s.signal != nil {
		s.tell()
		return
	}
	s.mu.Lock()
	s.queue.add(Event{Path: s.path, Name: name, Op: op, Dir: dir}, s.o.Pending)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tell gives a Notify its signal.
func (s *Sub) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil { // the channel is closed
		return
	}
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// pump carries events from the queue to C, so that a slow subscriber waits for itself alone.
func (s *Sub) pump() {
	defer close(s.c)
	for {
		s.mu.Lock()
		ev, ok := s.queue.take()
		s.mu.Unlock()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.done:
				return
			}
		}
		select {
		case s.c <- ev:
		case <-s.done:
			return
		}
	}
}

// lost is called, once, when the kernel's watcher can no longer serve s.
func (s *Sub) lost(why error) {
	if s.signal == nil {
		s.startPolling(PollEvery, why)
		s.offer(Overflow, "", false) // between the last event and the first listing anything may have happened
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == nil && !s.over {
		s.reason = why
		close(s.signal)
	}
}

// startPolling makes s list its folder from now on. The first listing is done when it returns.
func (s *Sub) startPolling(every time.Duration, why error) {
	first := listing{}.next(s.abs, &s.o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.polled {
		return
	}
	s.polled, s.reason = true, why
	s.work.Go(func() { s.poll(first, every) })
}

// A queue holds one event a name, in the order in which the names first came up.
type queue struct {
	events map[string]Event
	order  []string
	head   int
}

// add merges ev into what waits. With limit names waiting, all of them become one Overflow: the
// subscriber looks at the whole folder then, and needs to be told of nothing that happens before.
func (q *queue) add(ev Event, limit int) {
	if q.events == nil {
		q.events = make(map[string]Event)
	}
	old, waits := q.events[ev.Name]
	if waits {
		ev.Op |= old.Op
		q.events[ev.Name] = ev
		return
	}
	if q.events[""].Op&Overflow != 0 {
		return
	}
	if len(q.events) >= limit {
		*q = queue{events: make(map[string]Event)}
		ev = Event{Path: ev.Path, Op: Overflow | ev.Op&Self}
	}
	q.events[ev.Name] = ev
	q.order = append(q.order, ev.Name)
}

// take removes the oldest event.
func (q *queue) take() (Event, bool) {
	if q.head == len(q.order) {
		return Event{}, false
	}
	name := q.order[q.head]
	q.order[q.head] = ""
	q.head++
	ev := q.events[name]
	delete(q.events, name)
	switch {
	case q.head == len(q.order):
		q.order, q.head = q.order[:0], 0
	case q.head > 64 && q.head > len(q.order)/2: // never empty, it would grow for ever
		n := copy(q.order, q.order[q.head:])
		clear(q.order[n:])
		q.order, q.head = q.order[:n], 0
	}
	return ev, true
}
