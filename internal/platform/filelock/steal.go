package filelock

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxRecord bounds what is read of a record, which has about 400 bytes; anything longer is none.
const maxRecord = 4 << 10

// A sight is what was found under the name of a record.
type sight struct {
	file  fileID
	mtime time.Time
	data  []byte
	why   string // set when it is not a plain file that we can read: never touched, and waited for
}

// look reads a record without following a link and without waiting for the other end of a FIFO. unix.ENOENT: none is there.
func look(dirfd int, name string) (sight, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := openat(dirfd, name, flags, 0)
	switch err {
	case nil:
	case unix.ELOOP, unix.ENXIO:
		return sight{why: "is not a plain file"}, nil
	case unix.EACCES, unix.EPERM:
		return sight{why: "we may not read"}, nil
	default:
		return sight{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return sight{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return sight{why: "is not a plain file"}, nil
	}
	var buf [maxRecord + 1]byte
	n := 0
	for n < len(buf) {
		m, err := unix.Pread(fd, buf[n:], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return sight{}, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	s := sight{file: fileID{uint64(st.Dev), uint64(st.Ino)}, mtime: time.Unix(0, st.Mtim.Nano())}
	s.data = append(s.data, buf[:n]...)
	return s, nil
}

// create writes our record whole under another name and links it to its own; unix.EEXIST: there is one already.
func (l *Lock) create(token int64) error {
	now := l.o.Now()
	nonce := fmt.Sprintf("%016x", rand.Uint64())
	body := appendRecord(make([]byte, 0, 512), record{
		pid: l.o.PID, host: l.o.Host, started: now,
		holder: l.o.Host + ":" + strconv.Itoa(l.o.PID), nonce: nonce,
		acquired: now, renewed: now, length: l.o.Lease, token: token,
		boot: l.o.BootID, begun: l.begun(),
	})
	tmp := tempName()
	if err := write(l.dirfd, tmp, body); err != nil {
		return err
	}
	err := unix.Linkat(l.dirfd, tmp, l.dirfd, l.o.Record, 0)
	unix.Unlinkat(l.dirfd, tmp, 0)
	switch err {
	case unix.EPERM, unix.ENOTSUP, unix.ENOSYS:
		// No links here. The record is half written for an instant, as those of the foreign programs are.
		err = write(l.dirfd, l.o.Record, body)
	}
	if err == nil {
		l.nonce, l.body = nonce, body
	}
	return err
}

// write makes a new file.
func write(dirfd int, name string, body []byte) error {
	fd, err := openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	n, err := unix.Write(fd, body)
	if err == nil && n < len(body) {
		err = unix.ENOSPC
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		unix.Unlinkat(dirfd, name, 0)
	}
	return err
}

// steal takes the stale record that was seen out of the way. It is renamed first and read again under a name that no other
// process knows: if it turns out to be another one, made since by a faster process, it is put back.
func steal(dirfd int, name string, seen sight) error {
	tmp := tempName()
	if err := unix.Renameat(dirfd, name, dirfd, tmp); err != nil {
		if err == unix.ENOENT {
			return nil
		}
		return err
	}
	got, err := look(dirfd, tmp)
	if err != nil || got.file != seen.file || !bytes.Equal(got.data, seen.data) {
		// Should the name be taken again by now, its new holder and the one we robbed are two; the latter learns it from Check.
		if err := unix.Linkat(dirfd, tmp, dirfd, name, 0); err != nil && err != unix.EEXIST {
			return unix.Renameat(dirfd, tmp, dirfd, name) // no links here
		}
	}
	return unix.Unlinkat(dirfd, tmp, 0)
}

// Temporary names have the form of those of package atomicfile, so that its Sweep removes what a crash leaves.
var (
	tempStart = rand.Uint64()
	tempCount atomic.Uint64
)

func tempName() string {
	b := append(make([]byte, 0, 64), ".tutti-"...)
	b = strconv.AppendUint(b, uint64(os.Getpid()), 36)
	b = append(b, '-')
	b = strconv.AppendUint(b, tempStart, 36)
	b = append(b, "-l"...)
	b = strconv.AppendUint(b, tempCount.Add(1), 36)
	return string(append(b, ".tmp"...))
}

func openat(dirfd int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, flags, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// begunCache keeps the start of this process as it was first found: later it would be told by a clock that may have been set.
var begunCache sync.Map // of Options.PID to int64

// begun returns the start of our process for the record, 0 when it is unknown.
func (l *Lock) begun() int64 {
	if v, ok := begunCache.Load(l.o.PID); ok {
		return v.(int64)
	}
	start, _ := l.o.Proc(l.o.PID)
	if start.IsZero() {
		start = l.o.Started
	}
	var begun int64
	if !start.IsZero() {
		begun = sinceBoot(start)
	}
	v, _ := begunCache.LoadOrStore(l.o.PID, begun)
	return v.(int64)
}
