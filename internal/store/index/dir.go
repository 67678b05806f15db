package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/platform/smallfile"

	"golang.org/x/sys/unix"
)

// A Dir is an open cache folder. Only a folder that is ours and has no rights for others becomes one, because rows are
// believed without asking the source for its bytes.
type Dir struct {
	path string // for messages
	fd   int
}

// OpenDir opens a cache folder. fs.ErrNotExist: there is none; ErrUnsafe: others could have written to it.
func OpenDir(path string) (*Dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open cache folder", Path: path, Err: err}
	}
	d := &Dir{path, fd}
	if err := d.private(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// MakeDir opens a cache folder and makes it, mode 0700, with the folders above it that are missing.
func MakeDir(path string) (*Dir, error) {
	d, err := OpenDir(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return OpenDir(path)
}

func (d *Dir) private() error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if int(st.Uid) != unix.Geteuid() {
		return fmt.Errorf("%w: %s belongs to user %d", ErrUnsafe, d.path, st.Uid)
	}
	if perm := st.Mode & 0o777; perm&0o077 != 0 {
		return fmt.Errorf("%w: %s has mode %04o, not 0700", ErrUnsafe, d.path, perm)
	}
	return nil
}

// Close gives the handle back. Tables opened from d stay usable.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// Remove throws the tables of that name away, whatever they are. Those that are open stay readable.
func (d *Dir) Remove(name string) {
	for _, ending := range []string{rowsEnding, moreEnding, keysEnding} {
		unix.Unlinkat(d.fd, name+ending, 0)
	}
}

// open opens a table file and returns its size. Anything but a plain file of ours is ErrBad.
func (d *Dir) open(name string) (fd int, size int64, err error) {
	fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, 0, &fs.PathError{Op: "open index", Path: filepath.Join(d.path, name), Err: err}
	}
	if err != nil {
		return -1, 0, fmt.Errorf("%w: open %s: %w", ErrBad, name, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == unix.Geteuid() {
		return fd, st.Size, nil
	}
	unix.Close(fd)
	return -1, 0, fmt.Errorf("%w: %s is not a plain file of ours", ErrBad, name)
}

// tempPrefix begins the names of files that are being written; the rest is random.
const tempPrefix = ".tmp-"

// A sink writes a new table file. The first error sticks and is returned by commit.
type sink struct {
	dir *Dir
	fd  int
	tmp string
	buf []byte
	n   int64 // bytes taken so far
	err error
}

// sinkBuffer is large enough that a table of ten thousand rows takes some dozen writes.
const sinkBuffer = 128 << 10

func (d *Dir) create(size int64) *sink {
	s := &sink{dir: d, tmp: tempPrefix + strconv.FormatUint(rand.Uint64(), 36)}
	s.fd, s.err = unix.Openat(d.fd, s.tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	s.buf = make([]byte, 0, min(size, sinkBuffer))
	return s
}

func (s *sink) add(b []byte) {
	s.n += int64(len(b))
	for len(b) > 0 && s.err == nil {
		n := copy(s.buf[len(s.buf):cap(s.buf)], b)
		s.buf = s.buf[:len(s.buf)+n]
		b = b[n:]
		if len(s.buf) == cap(s.buf) {
			s.flush()
		}
	}
}

func (s *sink) flush() {
	for b := s.buf; len(b) > 0 && s.err == nil; {
		n, err := unix.Write(s.fd, b)
		if err == unix.EINTR {
			continue
		}
		b, s.err = b[max(n, 0):], err
	}
	s.buf = s.buf[:0]
}

// commit gives the file its name if want bytes were written without an error; otherwise it removes it.
func (s *sink) commit(name string, want int64) error {
	s.flush()
	if s.err == nil && s.n != want {
		s.err = fmt.Errorf("%d bytes where %d were announced", s.n, want)
	}
	if s.fd >= 0 {
		if err := unix.Close(s.fd); s.err == nil {
			s.err = err
		}
		if s.err == nil {
			s.err = unix.Renameat(s.dir.fd, s.tmp, s.dir.fd, name)
		}
		if s.err != nil {
			unix.Unlinkat(s.dir.fd, s.tmp, 0)
		}
	}
	if s.err != nil {
		return fmt.Errorf("write index %s: %w", name, s.err)
	}
	return nil
}

// sweepAge is how old a temporary file is before it counts as left by a crash. Writing one takes milliseconds.
const sweepAge = time.Hour

// sweep removes what crashed writers have left. It is called where a large table was written, which is seldom.
func (d *Dir) sweep() {
	f, err := smallfile.OpenDir(d.path, smallfile.NoLinks)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		var st unix.Stat_t
		if !strings.HasPrefix(name, tempPrefix) || unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		if time.Since(time.Unix(0, st.Mtim.Nano())) > sweepAge {
			unix.Unlinkat(d.fd, name, 0)
		}
	}
}
