package fswatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// selfMask are the events that say that a watched thing is no longer where it was.
const selfMask = unix.IN_MOVE_SELF | unix.IN_DELETE_SELF

// A Watcher is one inotify instance and the goroutine that reads it. It is safe for concurrent use.
type Watcher struct {
	file  *os.File // of the runtime's poller, so that waiting costs no thread
	fd    int      // the same; not used once closed
	ended chan struct{}

	// mu guards what follows, and the nodes and chains. It is never held while waiting for a
	// subscriber. Order: Watcher.mu, then Sub.mu.
	mu     sync.Mutex
	closed bool
	nodes  map[int]*node     // by watch descriptor
	chains map[string]*chain // by absolute path of the folder
}

// Start takes one of the user's kernel watchers. The error wraps [ErrNoWatcher] when none is left.
// Everything in a process should use [Shared] instead.
func Start() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, noInstance(err)
	}
	w := &Watcher{
		file:   os.NewFile(uintptr(fd), "inotify"),
		fd:     fd,
		ended:  make(chan struct{}),
		nodes:  make(map[int]*node),
		chains: make(map[string]*chain),
	}
	go w.read()
	return w, nil
}

// noInstance says which limit was met. The kernel has one error for the user's and for the process's.
func noInstance(err error) error {
	if errors.Is(err, unix.EMFILE) {
		const name = "fs.inotify.max_user_instances"
		return fmt.Errorf("%w: all inotify instances of this user are taken (%s%s), or this process has too many open files", ErrNoWatcher, name, limit(name))
	}
	return fmt.Errorf("%w: start inotify: %w", ErrNoWatcher, err)
}

// limit returns " = 128" for the name of a kernel setting, or "".
func limit(name string) string {
	value, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return " = " + strings.TrimSpace(string(value))
}

var shared struct {
	mu sync.Mutex // guards w; taken before Watcher.mu
	w  *Watcher
}

// Shared returns the watcher of the process, which lives as long as the process does. A failure is not
// kept: the next call tries again.
func Shared() (*Watcher, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.w != nil && !shared.w.isClosed() {
		return shared.w, nil
	}
	w, err := Start()
	if err != nil {
		return nil, err
	}
	shared.w = w
	return w, nil
}

func (w *Watcher) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// Close gives the kernel's watcher back and closes the channels of all subscriptions. It waits for
// their goroutines.
func (w *Watcher) Close() error {
	w.mu.Lock()
	var subs []*Sub
	for _, c := range w.chains {
		subs = append(subs, c.subs...)
	}
	err := error(nil)
	if !w.closed {
		w.closed = true
		err = w.file.Close()
	}
	w.mu.Unlock()
	<-w.ended
	for _, s := range subs {
		s.work.Wait()
	}
	return err
}

// Add subscribes to the folder path, which may be missing. The error wraps [ErrNoWatcher] when the
// kernel cannot watch it.
func (w *Watcher) Add(path string, o Options) (*Sub, error) {
	s := newSub(path, o)
	if err := w.add(s); err != nil {
		s.finish()
		s.work.Wait()
		return nil, err
	}
	return s, nil
}

// Notify is the function [Notify] on this watcher.
func (w *Watcher) Notify(dir, name string) (look <-chan struct{}, stop func(), err error) {
	s := newSignal(dir, name)
	if err := w.add(s); err != nil {
		return nil, func() {}, err
	}
	return s.signal, s.Close, nil
}

func (w *Watcher) add(s *Sub) error {
	if !strings.HasPrefix(s.abs, "/") {
		return fmt.Errorf("watch %s: the working directory is gone", s.path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("watch %s: %w", s.path, errClosed)
	}
	c := w.chains[s.abs]
	if c == nil {
		c = &chain{path: s.abs}
		w.chains[s.abs] = c
	}
	s.leave = w.leave
	c.subs = append(c.subs, s)
	if err := w.arm(c); err != nil {
		w.detach(c, s)
		return err
	}
	return nil
}

// leave is called by a subscription that is closed.
func (w *Watcher) leave(s *Sub) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.chains[s.abs]; c != nil && slices.Contains(c.subs, s) {
		w.detach(c, s)
	}
}

// detach takes s from c, and gives back the watches that are no longer needed.
func (w *Watcher) detach(c *chain, s *Sub) {
	c.subs = slices.DeleteFunc(c.subs, func(x *Sub) bool { return x == s })
	if len(c.subs) == 0 {
		w.disarm(c)
		delete(w.chains, c.path)
		return
	}
	for _, n := range c.nodes {
		for i := range n.uses {
			if u := &n.uses[i]; u.c == c && u.target {
				u.mask = c.mask()
			}
		}
		w.settle(n)
	}
}

// read waits for events until the watcher is closed. Without events it does not wake up.
func (w *Watcher) read() {
	defer close(w.ended)
	buf := make([]byte, 16<<10) // some 300 events of a burst at a time
	for {
		n, err := w.file.Read(buf)
		w.mu.Lock()
		if err != nil || w.closed {
			w.fail(err)
			w.mu.Unlock()
			return
		}
		w.batch(buf[:n])
		w.mu.Unlock()
	}
}

// fail ends all subscriptions of a watcher that was closed, and hands those of one that broke to
// polling. Who waits for a signal only has to look for himself in both cases.
func (w *Watcher) fail(err error) {
	closing := w.closed
	if closing {
		err = errClosed
	} else {
		w.closed = true
		w.file.Close()
		err = fmt.Errorf("%w: read inotify: %w", ErrNoWatcher, err)
	}
	for _, c := range w.chains {
		for _, s := range c.subs {
			if closing && s.signal == nil {
				s.finish()
			} else {
				s.lost(err)
			}
		}
	}
	clear(w.chains)
	clear(w.nodes)
}

// batch handles what one read returned: first all events, then every path that may lead elsewhere now.
func (w *Watcher) batch(buf []byte) {
	var dirty []*chain
	overflow := false
	soil := func(c *chain) {
		if !c.dirty {
			c.dirty = true
			dirty = append(dirty, c)
		}
	}
	for len(buf) >= unix.SizeofInotifyEvent {
		// struct inotify_event: int wd; uint32 mask, cookie, len; char name[len]
		wd := int(int32(binary.NativeEndian.Uint32(buf[0:])))
		mask := binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			overflow = true // never seen; the rest cannot be told apart
			break
		}
		name := strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00")
		buf = buf[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			overflow = true
			continue
		}
		w.handle(wd, mask, name, soil)
	}
	if overflow {
		for _, c := range w.chains {
			soil(c) // the lost ones may have been about the path
		}
	}
	for _, c := range dirty {
		w.renew(c, overflow)
	}
}

// handle gives one event to those whom it concerns.
func (w *Watcher) handle(wd int, mask uint32, name string, soil func(*chain)) {
	n := w.nodes[wd]
	if n == nil { // still queued when its watch was given back
		return
	}
	if mask&unix.IN_IGNORED != 0 { // the kernel has dropped the watch
		delete(w.nodes, wd)
		n.gone = true
	}
	moved := mask&(selfMask|unix.IN_UNMOUNT|unix.IN_IGNORED) != 0
	for _, u := range n.uses {
		if moved || u.next != "" && u.next == name {
			soil(u.c)
		}
		if u.target {
			u.c.deliver(mask, name)
		}
	}
}

// renew follows the path of c again, after something on it has changed.
func (w *Watcher) renew(c *chain, overflow bool) {
	c.dirty = false
	if len(c.subs) == 0 {
		return
	}
	was := c.target != nil
	if err := w.arm(c); err != nil {
		w.disarm(c)
		delete(w.chains, c.path)
		for _, s := range c.subs {
			s.lost(err)
		}
		return
	}
	var op Op
	if was || c.target != nil {
		op = Self
	}
	if overflow {
		op |= Overflow
	}
	for _, s := range c.subs {
		switch {
		case op != 0:
			s.offer(op, "", false)
		case s.signal != nil: // "missing" may have become "cannot be looked at"
			s.tell()
		} // else a step nearer to a folder that is still missing
	}
}
