package filestore

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"sync"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// A held is the lock of one key: a kernel lock among our own processes, and the record that foreign programs keep where
// they keep one. A nil held is that of a key which needs no lock.
type held struct {
	lock *filelock.Lock
	in   *atomicfile.Dir // the folder of the lock if it is not that of the file
}

// kernelLock is the file that our own processes queue on, in the folder of what it guards, or in that of temporary files for
// kinds that have one: who watches the folder of the documents is not woken by it.
const kernelLock = ".flock"

// lock waits for the lock of a key whose folder is open. It gives up after five seconds with a *store.HeldError.
func (s *Store) lock(ctx context.Context, k store.Key, d *atomicfile.Dir) (*held, error) {
	h := &held{}
	if temp := k.Kind.Spec().TempPath; temp != "" {
		in, err := s.makeHome(temp)
		if err != nil {
			return nil, err
		}
		h.in, d = in, in
	}
	o := filelock.Options{Kernel: kernelLock}
	if p := k.Kind.Spec().Lock; p != "" { // no part of a key is in the name of the file
		o = withRecord(o, path.Base(p))
	}
	var err error
	if h.lock, err = filelock.Acquire(ctx, d.FD(), d.Path(), o); err != nil {
		h.release()
		return nil, lockError(ctx, err)
	}
	return h, nil
}

// withRecord adds the record of foreign programs, and who we are in it.
func withRecord(o filelock.Options, name string) filelock.Options {
	me := myself()
	o.Record, o.Host, o.PID, o.Started, o.BootID = name, me.host, me.pid, me.started, me.boot
	o.Proc = func(pid int) (time.Time, bool) {
		id, err := proc.Of(pid)
		if err != nil {
			// Only what has certainly ended is dead: a process that cannot be looked at must not be robbed.
			return time.Time{}, !errors.Is(err, proc.ErrGone)
		}
		start, _ := proc.StartTime(id.PID)
		return start, true
	}
	return o
}

// identity is what a lock record says of its holder.
type identity struct {
	host    string
	pid     int
	started time.Time
	boot    string
}

// myself is found once: the first lock with a record pays for it.
var myself = sync.OnceValue(func() identity {
	started, _ := proc.StartTime(os.Getpid())
	return identity{proc.Hostname(), os.Getpid(), started, proc.BootID()}
})

func lockError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*filelock.HeldError](err); ok {
		return &store.HeldError{Name: e.Path, Holder: cmp.Or(e.Holder, "an unnamed holder"), Until: e.Until}
	}
	return err
}

// check tells, before the final step, whether the lock is still ours: another program may have judged it stale. If it is
// not, nothing may be written.
func (h *held) check() error {
	if h == nil {
		return nil
	}
	err := h.lock.Check()
	if errors.Is(err, filelock.ErrLost) {
		return store.ErrConflict
	}
	return err
}

// release gives the lock back. One that was lost meanwhile has no more to give.
func (h *held) release() {
	if h == nil {
		return
	}
	if h.lock != nil {
		_ = h.lock.Release()
	}
	if h.in != nil {
		h.in.Close()
	}
}
