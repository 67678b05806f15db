// Package atomicfile writes files that others see whole or not at all, and opens files that others may have tampered with.
//
// Everything happens below an open folder, a [Dir], by handle and not by path: a folder that is renamed or replaced while we
// work in it does not lead us elsewhere. No step below the handle follows a symbolic link, because the names come from
// messages and the folders are shared; an os.Root would keep names inside the folder but follows links that stay inside.
// Opening never blocks (a FIFO does not hang us) and what was opened is judged by its handle, not by a look at its name before.
//
// A write goes to a file without a name or with a temporary one, is synced, and then gets its name in one step: by a link that
// fails when the name is taken ([Dir.Create]) or by a rename over the old file ([Dir.Replace]). With sync set, nil means that
// content and name survive a power cut. Temporary names begin with ".tutti-" and end in ".tmp"; what a crash leaves is removed by [Dir.Sweep].
//
// Which file may change under which lock, how large a file may be and what it contains are questions for the callers.
//
// On Linux every operation is as few system calls as it can be; on macOS the same promises are kept in more steps.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Dir is an open folder. It is safe for concurrent use; Close while another method runs lets that method end first.
type Dir struct {
	path string // as given, for messages only
	fd   int
	// refs counts the users of fd: one for the Dir itself until it is closed, one for each method at work. The caller that
	// takes it to zero closes fd, so no method can meet a number that the system has given to another file meanwhile.
	refs   atomic.Int32
	closed atomic.Bool
	// needNames is set once the file system has turned out to know no files without a name.
	needNames atomic.Bool
}

// An UnfitError reports something that lies where a file or a folder should and that we will not touch: a link, a folder,
// a FIFO, a file that is too large or belongs to a stranger.
type UnfitError struct {
	Name string // path, for people
	Why  string
}

func (e *UnfitError) Error() string { return e.Name + ": " + e.Why }

// OpenDir opens a folder that the user named, directly or through settings. It is the only function here that follows links.
func OpenDir(path string) (*Dir, error) {
	fd, err := openAt(unix.AT_FDCWD, path, dirFlags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open folder", Path: path, Err: err}
	}
	return newDir(path, fd), nil
}

// dirFlags opens a folder for reading its names and for syncing it.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func newDir(path string, fd int) *Dir {
	d := &Dir{path: path, fd: fd}
	d.refs.Store(1)
	return d
}

// Close gives the handle back. A second Close does nothing.
func (d *Dir) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.leave()
}

// Path returns the path under which the folder was opened. It is for messages: the folder may be elsewhere by now.
func (d *Dir) Path() string { return d.path }

// FD returns the descriptor, for system calls of the caller. It is valid until Close.
func (d *Dir) FD() int { return d.fd }

// enter holds the descriptor open until leave.
func (d *Dir) enter() error {
	for {
		n := d.refs.Load()
		if n <= 0 || d.closed.Load() {
			return fmt.Errorf("folder %s: %w", d.path, fs.ErrClosed)
		}
		if d.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (d *Dir) leave() error {
	if d.refs.Add(-1) == 0 {
		return unix.Close(d.fd)
	}
	return nil
}

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// fail makes the error of an operation on a name below d. What no caller can use as a file becomes an UnfitError.
func (d *Dir) fail(op, name string, err error) error {
	switch err {
	case unix.ELOOP:
		return &UnfitError{d.join(name), "is a symbolic link, or lies behind one"}
	case unix.ENOTDIR:
		return &UnfitError{d.join(name), "a step of the path is a link or no folder"}
	case unix.ENXIO:
		return &UnfitError{d.join(name), "is a FIFO or a socket"}
	case unix.EISDIR:
		return &UnfitError{d.join(name), "is a folder"}
	}
	return &fs.PathError{Op: op, Path: d.join(name), Err: err}
}

// check refuses names that are not a plain path below a folder. Bytes that are not valid UTF-8 are allowed: such files exist.
func check(rel string) error {
	if rel == "" || strings.IndexByte(rel, 0) >= 0 {
		return fs.ErrInvalid
	}
	for rest, more := rel, true; more; {
		var step string
		step, rest, more = strings.Cut(rest, "/")
		if step == "" || step == "." || step == ".." {
			return fs.ErrInvalid
		}
	}
	return nil
}

// Sub opens the folder rel, a slash path below d, without following a link in any step. "" and "." give a second handle of d.
// A missing folder is fs.ErrNotExist, a link or a file in its place an *UnfitError.
func (d *Dir) Sub(rel string) (*Dir, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	fd, err := d.openSub(rel)
	if err != nil {
		return nil, d.fail("open folder", rel, err)
	}
	return newDir(d.join(rel), fd), nil
}

func (d *Dir) openSub(rel string) (int, error) {
	if rel == "" || rel == "." {
		// Not dup: two handles would share the position of a listing.
		return openAt(d.fd, ".", dirFlags, 0)
	}
	if err := check(rel); err != nil {
		return -1, err
	}
	return openBeneath(d.fd, rel, dirFlags, 0)
}

// MakeSub opens the folder rel like [Dir.Sub] and makes the steps that are missing, with perm less the umask. Each folder that
// was made and each in which one was made is synced, so that a file synced in the new folder later cannot be lost with it.
func (d *Dir) MakeSub(rel string, perm fs.FileMode) (*Dir, error) {
	sub, err := d.Sub(rel)
	if !errors.Is(err, fs.ErrNotExist) {
		return sub, err
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	at := d.fd
	for rest, more := rel, true; more; {
		var step string
		step, rest, more = strings.Cut(rest, "/")
		next, err := makeStep(at, step, uint32(perm.Perm()))
		if at != d.fd {
			unix.Close(at)
		}
		if err != nil {
			return nil, d.fail("make folder", rel, err)
		}
		at = next
	}
	return newDir(d.join(rel), at), nil
}

func makeStep(at int, name string, perm uint32) (int, error) {
	fd, err := openAt(at, name, dirFlags|unix.O_NOFOLLOW, 0)
	if err != unix.ENOENT {
		return fd, err
	}
	// One that another program makes in this instant is synced too: we cannot know whether that program will.
	if err := unix.Mkdirat(at, name, perm); err != nil && err != unix.EEXIST {
		return -1, err
	}
	fd, err = openAt(at, name, dirFlags|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	// Without a journal the name of a folder that was not written itself does not survive, nor what was moved into it.
	if err = syncFolder(fd); err == nil {
		err = syncFolder(at)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// at finds the folder and the last step of name. The common name without a slash needs no system call.
// done gives back what was opened.
func (d *Dir) at(name string) (fd int, base string, done func(), err error) {
	if err := check(name); err != nil {
		return -1, "", nil, err
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return d.fd, name, func() {}, nil
	}
	fd, err = openBeneath(d.fd, name[:i], dirFlags, 0)
	return fd, name[i+1:], func() { unix.Close(fd) }, err
}

// Remove removes the file name, a slash path below d. It does not sync the folder.
func (d *Dir) Remove(name string) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	fd, base, done, err := d.at(name)
	if err == nil {
		err = unix.Unlinkat(fd, base, 0)
		done()
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: d.join(name), Err: err}
	}
	return nil
}

// Sync makes the names in the folder survive a power cut.
func (d *Dir) Sync() error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := syncFolder(d.fd); err != nil {
		return &fs.PathError{Op: "sync folder", Path: d.path, Err: err}
	}
	return nil
}

// listings holds the buffers of Names: 32 KiB take about 500 names a system call.
var listings = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Names returns the names of all entries in no order, without "." and "..".
func (d *Dir) Names() ([]string, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	names, err := d.names()
	if err != nil {
		return nil, &fs.PathError{Op: "list folder", Path: d.path, Err: err}
	}
	return names, nil
}

func (d *Dir) names() ([]string, error) {
	// A listing moves the position of its handle, and d may be listed by many at a time.
	fd, err := openAt(d.fd, ".", dirFlags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := listings.Get().(*[32 << 10]byte)
	defer listings.Put(buf)
	var names []string
	for {
		n, err := again(func() (int, error) { return unix.ReadDirent(fd, buf[:]) })
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// again repeats a system call that a signal has interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// openAt is openat for one step; the caller says whether a link is followed.
func openAt(at int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openSteps opens a path step by step, none of which may be a link: for systems that cannot do it in one call.
func openSteps(at int, rel string, flags int, perm uint32) (int, error) {
	from := at
	for {
		step, rest, more := strings.Cut(rel, "/")
		if !more {
			fd, err := openAt(from, step, flags|unix.O_NOFOLLOW, perm)
			if from != at {
				unix.Close(from)
			}
			return fd, err
		}
		next, err := openAt(from, step, dirFlags|unix.O_NOFOLLOW, 0)
		if from != at {
			unix.Close(from)
		}
		if err != nil {
			return -1, err
		}
		from, rel = next, rest
	}
}
