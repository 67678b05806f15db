// Package filelock gives one holder at a time to a folder that several programs change, ours and foreign ones.
//
// Two locks are taken, one after the other. The first is a lock of the kernel on a file that only our programs know: they queue
// on it instead of polling, and it ends with its process. The second is the lock record that the programs we took the format
// over from create and delete: a small JSON file under an agreed name. Those programs read it in one of two ways, by the pid of the holder
// or by a lease that runs out; our record satisfies both, is never visible half written, and is removed by its holder only.
//
// Another process's record is judged by [Judge], strictly: a live process of this machine is never robbed, however long it
// holds; a dead one is at once; a record of another machine only when it carries a lease and the lease has run out; one that
// cannot be read only when it is older than a minute. Against our own programs the exclusion is complete. Against foreign ones
// it holds as far as they keep it: one that takes our record away, because it counts leases and we were stopped for longer than
// ours, is noticed by [Lock.Check], which belongs before the last step of the work.
//
// A Lock is not re-entrant, and no caller should hold two. What it protects, and what happens when it is lost, is the caller's.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Defaults: what the foreign programs use, so that ours give up and are given up at the same times.
const (
	DefaultTimeout = 5 * time.Second
	DefaultLease   = 30 * time.Second
)

// Options say what to lock and who we are. Kernel is needed; the zero value of everything else is usable.
type Options struct {
	Kernel  string        // name of the kernel lock file in the folder; it is made when missing and never removed
	Record  string        // name of the lock record in the folder; "": the kernel lock only
	Timeout time.Duration // how long to wait, 0: DefaultTimeout; negative: not at all
	Lease   time.Duration // written into the record, 0: DefaultLease

	Host    string    // name of this machine, "": as the system says
	PID     int       // 0: our own
	Started time.Time // when that process was started; zero: as Proc says
	BootID  string    // this boot of the machine; "" when unknown
	// Proc tells whether a process of this machine runs and when it was started (zero: unknown). Nil: asks by signal 0, without
	// the start.
	Proc func(pid int) (start time.Time, alive bool)
	Now  func() time.Time // the clock that records are written and judged by, nil: time.Now
}

// ErrLost reports that the lock record is not ours any more. Nothing may be written under the lock then.
var ErrLost = errors.New("lock was taken away")

// A HeldError reports a lock that another process held for as long as we would wait.
type HeldError struct {
	Path   string    // of the lock record, or of the kernel lock file if there is no record
	Holder string    // the last holder seen, for people; "" if unknown
	Until  time.Time // when a lease that decides runs out, else zero
}

func (e *HeldError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "an unnamed holder"
	}
	if e.Until.IsZero() {
		return fmt.Sprintf("%s is held by %s", e.Path, holder)
	}
	return fmt.Sprintf("%s is held by %s until %s", e.Path, holder, e.Until.UTC().Format(timeForm))
}

// A Lock is held from Acquire to Release. Its methods are for the goroutine that holds it.
type Lock struct {
	o      Options
	dirfd  int
	dir    string
	kernel *kernel // nil where the file system knows no kernel locks
	nonce  string  // of our record, "" when there is none
	body   []byte  // our record as written
}

// errTimeout is the cause of the context that Acquire waits under, to tell its end from that of the caller's.
var errTimeout = errors.New("waited long enough")

// Acquire waits until it holds the lock in the folder dirfd, whose path dir is for messages. The descriptor must stay open until
// Release. After o.Timeout the error is a *HeldError; when ctx ends first, its cause.
func Acquire(ctx context.Context, dirfd int, dir string, o Options) (*Lock, error) {
	l := &Lock{o: o.filled(), dirfd: dirfd, dir: dir}
	if l.o.Kernel == "" {
		return nil, fmt.Errorf("lock %s: no kernel lock named", dir)
	}
	err := l.take(ctx)
	if err == nil {
		return l, nil
	}
	l.kernel.unlock()
	if errors.Is(err, errTimeout) {
		return nil, l.held()
	}
	return nil, fmt.Errorf("lock %s: %w", l.path(), err)
}

// take asks once whether the kernel lock is free, for it nearly always is, and without a record that is all. Only what
// has to wait gets a timer: the first one of a process costs it a poller of the system and a thread.
func (l *Lock) take(ctx context.Context) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	l.kernel, err = tryKernel(l.dirfd, l.o.Kernel)
	if err == nil && l.kernel != nil && l.o.Record == "" {
		return nil
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	wait, cancel := context.WithTimeoutCause(ctx, max(l.o.Timeout, 0), errTimeout)
	defer cancel()
	return l.acquire(wait)
}

func (o Options) filled() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.Host == "" && o.Record != "" {
		o.Host, _ = os.Hostname()
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Proc == nil {
		o.Proc = func(pid int) (time.Time, bool) { return time.Time{}, unix.Kill(pid, 0) == nil }
	}
	return o
}

func (l *Lock) path() string {
	if l.o.Record != "" {
		return filepath.Join(l.dir, l.o.Record)
	}
	return filepath.Join(l.dir, l.o.Kernel)
}

// held says who kept us waiting. One of our programs that holds the kernel lock has, as a rule, a record there too.
func (l *Lock) held() *HeldError {
	e := &HeldError{Path: l.path()}
	if l.o.Record == "" {
		return e
	}
	if seen, err := look(l.dirfd, l.o.Record); err == nil {
		j := l.judge(seen)
		e.Holder, e.Until = j.Holder, j.Until
	}
	return e
}

func (l *Lock) acquire(ctx context.Context) (err error) {
	if l.kernel == nil {
		l.kernel, err = lockKernel(ctx, l.dirfd, l.o.Kernel)
	}
	if errors.Is(err, errors.ErrUnsupported) && l.o.Record != "" {
		err = nil // a network folder without kernel locks: the record alone has to do
	}
	if err != nil || l.o.Record == "" {
		return err
	}
	token := int64(1)
	for {
		err := l.create(token)
		if err != unix.EEXIST {
			return err
		}
		if token, err = l.clear(ctx, token); err != nil {
			return err
		}
	}
}

// Waits for a foreign holder: they begin short, for most hold it for less than a millisecond, and end at the pace of the
// foreign programs.
const (
	firstWait = time.Millisecond
	lastWait  = 50 * time.Millisecond
)

// clear waits until the record is gone, or takes a stale one out of the way, and returns the fencing token for ours.
func (l *Lock) clear(ctx context.Context, token int64) (int64, error) {
	pause := firstWait
	for {
		seen, err := look(l.dirfd, l.o.Record)
		if err == unix.ENOENT {
			return token, context.Cause(ctx)
		}
		if err != nil {
			return 0, err
		}
		if j := l.judge(seen); j.Verdict != Wait {
			return j.NextToken, steal(l.dirfd, l.o.Record, seen)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return 0, context.Cause(ctx)
		}
		pause = min(2*pause, lastWait)
	}
}

func (l *Lock) judge(seen sight) Judgement {
	if seen.why != "" {
		return Judgement{Verdict: Wait, Holder: "something that " + seen.why}
	}
	if len(seen.data) > maxRecord {
		seen.data = nil // more than any record: judged as one that cannot be read
	}
	return Judge(Ours, Observed{
		Content: seen.data, Modified: seen.mtime, Now: l.o.Now(),
		Host: l.o.Host, BootID: l.o.BootID, Proc: l.proc,
	})
}

// proc is what Options.Proc says, but for processes of other users that it cannot see: /proc may be closed to us, the question
// whether a signal could be sent is not.
func (l *Lock) proc(pid int) (time.Time, bool) {
	start, alive := l.o.Proc(pid)
	if !alive && pid > 0 {
		alive = unix.Kill(pid, 0) == unix.EPERM
	}
	return start, alive
}

// Check returns ErrLost when the record on disk is not ours any more. It belongs before the step that makes the work visible.
func (l *Lock) Check() error {
	if l.nonce == "" {
		return nil // the kernel takes nothing back
	}
	seen, err := look(l.dirfd, l.o.Record)
	switch {
	case err == unix.ENOENT, err == nil && !l.ours(seen):
		return fmt.Errorf("lock %s: %w", l.path(), ErrLost)
	case err != nil:
		return fmt.Errorf("read lock %s: %w", l.path(), err)
	}
	return nil
}

func (l *Lock) ours(seen sight) bool {
	if string(seen.data) == string(l.body) {
		return true
	}
	r, err := parseRecord(seen.data)
	return err == nil && r.lease && r.nonce == l.nonce
}

// Release gives the lock back. Only our own record is removed; that it was gone is reported as ErrLost. A second Release does nothing.
func (l *Lock) Release() error {
	err := l.Check()
	if l.nonce != "" && err == nil {
		if err = unix.Unlinkat(l.dirfd, l.o.Record, 0); err != nil {
			err = fmt.Errorf("remove lock %s: %w", l.path(), err)
		}
	}
	l.nonce = ""
	l.kernel.unlock()
	l.kernel = nil
	return err
}
