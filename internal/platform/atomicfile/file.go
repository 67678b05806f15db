package atomicfile

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// A File is an open plain file that passed the checks of [Dir.Open]. It belongs to one goroutine at a time.
type File struct {
	path string // for messages
	fd   int
}

// openFlags: never as a controlling terminal, never waiting for the other end of a FIFO.
const openFlags = unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY

// Open opens name, a slash path below d, for reading or, with write, for reading and writing. It does not block and follows
// no link. The file must be plain, must belong to us, to root or to the owner of d, and must have at most max bytes (max <= 0: no
// limit); anything else is an *UnfitError. The Info was taken from the open file.
func (d *Dir) Open(name string, write bool, max int64) (*File, Info, error) {
	if err := d.enter(); err != nil {
		return nil, Info{}, err
	}
	defer d.leave()
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR
	}
	return d.open(name, flags|openFlags, max)
}

// Append opens a log: for reading and for writing at its end. A missing one is made with mode 0600 and created is true; the
// caller syncs the folder if the name must survive a power cut. The checks are those of [Dir.Open].
func (d *Dir) Append(name string, max int64) (f *File, info Info, created bool, err error) {
	if err := d.enter(); err != nil {
		return nil, Info{}, false, err
	}
	defer d.leave()
	const flags = unix.O_RDWR | unix.O_APPEND | openFlags
	// A log can be removed and made between two looks, but not forever.
	for range 100 {
		f, info, err = d.open(name, flags, max)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, info, false, err
		}
		f, info, err = d.open(name, flags|unix.O_CREAT|unix.O_EXCL, max)
		if !errors.Is(err, fs.ErrExist) {
			return f, info, err == nil, err
		}
	}
	return nil, Info{}, false, err
}

func (d *Dir) open(name string, flags int, max int64) (*File, Info, error) {
	fd, i, err := d.openFD(name, flags, max)
	if err != nil {
		return nil, Info{}, err
	}
	return &File{d.join(name), fd}, i, nil
}

func (d *Dir) openFD(name string, flags int, max int64) (int, Info, error) {
	if err := check(name); err != nil {
		return -1, Info{}, d.fail("open", name, err)
	}
	fd, err := openBeneath(d.fd, name, flags, 0o600)
	if err != nil {
		return -1, Info{}, d.fail("open", name, err)
	}
	i, err := fstat(fd)
	if err != nil {
		unix.Close(fd)
		return -1, Info{}, d.fail("stat", name, err)
	}
	if why := d.unfit(i, max); why != "" {
		unix.Close(fd)
		return -1, Info{}, &UnfitError{d.join(name), why}
	}
	return fd, i, nil
}

// Read reads the whole of name with the checks of [Dir.Open]. The file is looked at before and after; if it changed meanwhile it
// is opened and read once more, and if it changed again Info.Unstable says so. Info.Size is the length of what was read.
func (d *Dir) Read(name string, max int64) ([]byte, Info, error) {
	if err := d.enter(); err != nil {
		return nil, Info{}, err
	}
	defer d.leave()
	data, info, err := d.read(name, max)
	if err == nil && info.Unstable {
		return d.read(name, max)
	}
	return data, info, err
}

func (d *Dir) read(name string, max int64) ([]byte, Info, error) {
	fd, before, err := d.openFD(name, unix.O_RDONLY|openFlags, max)
	if err != nil {
		return nil, Info{}, err
	}
	defer unix.Close(fd)
	// One byte more than there was: a full buffer tells that the file has grown, a short read that this was its end.
	data := make([]byte, before.Size+1)
	n, err := pread(fd, data, 0)
	if err != nil {
		return nil, Info{}, d.fail("read", name, err)
	}
	after, err := fstat(fd)
	if err != nil {
		return nil, Info{}, d.fail("stat", name, err)
	}
	after.Unstable = after != before || int64(n) != before.Size
	if int64(n) > before.Size {
		n = int(before.Size) // within max, and no more than was looked at
	}
	after.Size = int64(n)
	return data[:n:n], after, nil
}

// pread reads until b is full or the file ends. A read of a plain file that comes back short has met the end.
func pread(fd int, b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		m, err := unix.Pread(fd, b[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		n += m
		// The system moves at most 2 GiB at a time; anything else that is short is the end.
		if m == 0 || n < len(b) && m < 1<<30 {
			break
		}
	}
	return n, nil
}

// writeAll writes b at the position of fd.
func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (f *File) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// FD returns the descriptor. It is valid until Close.
func (f *File) FD() int { return f.fd }

// Stat tells about the open file, whatever its name is now.
func (f *File) Stat() (Info, error) {
	i, err := fstat(f.fd)
	return i, f.fail("stat", err)
}

// NextData tells where the first byte at or behind a place is that is not in a hole of the file, false when there is none. Where the
// system does not know of holes it is the place itself.
func (f *File) NextData(off int64) (int64, bool) {
	at, err := unix.Seek(f.FD(), off, unix.SEEK_DATA) // no one reads or writes at the place that this moves
	if errors.Is(err, unix.ENXIO) {
		return 0, false
	}
	if err != nil || at < off {
		return off, true
	}
	return at, true
}

// Pread reads from an offset until b is full or the file ends; fewer bytes than asked for, without an error, mean the end.
func (f *File) Pread(b []byte, off int64) (int, error) {
	n, err := pread(f.fd, b, off)
	return n, f.fail("read", err)
}

// Pwrite writes b at an offset. Not for files of [Dir.Append]: there the system writes at the end, whatever the offset.
func (f *File) Pwrite(b []byte, off int64) (int, error) {
	for n := 0; ; {
		m, err := unix.Pwrite(f.fd, b[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if n += max(m, 0); err != nil || n == len(b) {
			return n, f.fail("write", err)
		}
	}
}

// Append adds b to a file of [Dir.Append] in one write, so that lines of several programs do not mix. When only a part could be
// written the error is io.ErrShortWrite: the caller cuts it off or completes it.
func (f *File) Append(b []byte) (int, error) {
	n, err := again(func() (int, error) { return unix.Write(f.fd, b) })
	n = max(n, 0)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, f.fail("append", err)
}

// Truncate cuts the file to size bytes.
func (f *File) Truncate(size int64) error {
	_, err := again(func() (int, error) { return 0, unix.Ftruncate(f.fd, size) })
	return f.fail("truncate", err)
}

// Sync makes content and rights survive a power cut; the name is the folder's, see [Dir.Sync].
func (f *File) Sync() error { return f.fail("sync", syncFile(f.fd)) }

// Datasync makes the content and the length survive a power cut. It is a little cheaper than Sync.
func (f *File) Datasync() error { return f.fail("sync", syncData(f.fd)) }

// Close gives the handle back.
func (f *File) Close() error {
	fd := f.fd
	if fd < 0 {
		return nil
	}
	f.fd = -1
	return f.fail("close", unix.Close(fd))
}
