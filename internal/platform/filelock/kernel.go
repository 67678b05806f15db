package filelock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// A kernel is a held kernel lock. The nil kernel is none.
type kernel struct {
	fd   int
	file fileID
}

type fileID struct{ dev, ino uint64 }

// The queue inside this process stands before that of the kernel: waiting there costs a thread of the system for each waiter, and a
// thread that waits for a lock cannot be called back. So of each lock file at most one goroutine waits in the kernel, and
// when the caller has no patience left it stays in the queue on behalf of all until it gets the lock, and gives it up at once.
var (
	queueMu sync.Mutex // guards queue and its counts; never held while waiting
	queue   = map[fileID]*place{}
)

type place struct {
	turn  chan struct{} // full while a goroutine has the turn
	users int           // how many have the turn or wait for it
}

func (f fileID) enter(ctx context.Context) error {
	queueMu.Lock()
	p := queue[f]
	if p == nil {
		p = &place{turn: make(chan struct{}, 1)}
		queue[f] = p
	}
	p.users++
	queueMu.Unlock()
	select {
	case p.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		f.drop(p)
		return context.Cause(ctx)
	}
}

// leave passes the turn on.
func (f fileID) leave() {
	queueMu.Lock()
	p := queue[f]
	queueMu.Unlock()
	<-p.turn
	f.drop(p)
}

func (f fileID) drop(p *place) {
	queueMu.Lock()
	defer queueMu.Unlock()
	if p.users--; p.users == 0 {
		delete(queue, f)
	}
}

// tryEnter takes the turn if it is free.
func (f fileID) tryEnter() bool {
	queueMu.Lock()
	defer queueMu.Unlock()
	if queue[f] != nil {
		return false
	}
	p := &place{turn: make(chan struct{}, 1), users: 1}
	p.turn <- struct{}{}
	queue[f] = p
	return true
}

// tryKernel takes the kernel lock if no process holds it, nor waits for it in this process. A nil lock without an error: it is
// taken.
func tryKernel(dirfd int, name string) (*kernel, error) {
	k, err := openKernel(dirfd, name)
	if err != nil {
		return nil, err
	}
	if !k.file.tryEnter() {
		unix.Close(k.fd)
		return nil, nil
	}
	if err = flock(k.fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		var still bool
		if still, err = k.named(dirfd, name); still {
			return k, nil
		}
	}
	k.unlock()
	if err == unix.EWOULDBLOCK {
		err = nil
	}
	return nil, err
}

// named tells whether the file that is locked still has its name. It is ours and should not be removed. If it was, the next
// program locks another one.
func (k *kernel) named(dirfd int, name string) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return false, nil
	}
	return err == nil && k.file == (fileID{uint64(st.Dev), uint64(st.Ino)}), err
}

// lockKernel waits for the kernel lock on a file in the folder. errors.ErrUnsupported: this file system has none.
func lockKernel(ctx context.Context, dirfd int, name string) (*kernel, error) {
	for {
		k, err := openKernel(dirfd, name)
		if err != nil {
			return nil, err
		}
		if err := k.file.enter(ctx); err != nil {
			unix.Close(k.fd)
			return nil, err
		}
		if kept, err := k.lock(ctx); err != nil {
			if !kept {
				k.unlock()
			}
			return nil, err
		}
		still, err := k.named(dirfd, name)
		if still {
			return k, nil
		}
		k.unlock()
		if err != nil {
			return nil, err
		}
	}
}

func openKernel(dirfd int, name string) (*kernel, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := openat(dirfd, name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%s is not a plain file", name)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &kernel{fd, fileID{uint64(st.Dev), uint64(st.Ino)}}, nil
}

// lock takes the lock for the holder of the turn.
func (k *kernel) lock(ctx context.Context) (kept bool, err error) {
	err = flock(k.fd, unix.LOCK_EX|unix.LOCK_NB)
	if err != unix.EWOULDBLOCK {
		return false, err
	}
	got := make(chan error)
	go func() { // ends with the lock: no one can wait for it, see queue
		err := flock(k.fd, unix.LOCK_EX)
		select {
		case got <- err:
		case <-ctx.Done():
			k.unlock()
		}
	}()
	select {
	case err := <-got:
		return false, err
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

func flock(fd, how int) error {
	for {
		err := unix.Flock(fd, how)
		switch err {
		case unix.EINTR:
			continue
		case unix.ENOSYS, unix.ENOTSUP, unix.ENOLCK, unix.EINVAL:
			return errors.ErrUnsupported
		}
		return err
	}
}

// unlock gives the lock, the handle and the turn back.
func (k *kernel) unlock() {
	if k == nil {
		return
	}
	// A child that was forked and has not started its program yet has the handle, too: to close ours alone would leave the lock with it.
	_ = flock(k.fd, unix.LOCK_UN)
	unix.Close(k.fd)
	k.file.leave()
}
