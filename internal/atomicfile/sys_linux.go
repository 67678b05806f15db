package atomicfile

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 remembers that the kernel is older than 5.6 or that a filter forbids the call.
var noOpenat2 atomic.Bool

// openBeneath opens a slash path below a folder without following a link in any step, the last one included.
func openBeneath(at int, rel string, flags int, perm uint32) (int, error) {
	if strings.IndexByte(rel, '/') < 0 {
		return openAt(at, rel, flags|unix.O_NOFOLLOW, perm) // one step: the old call can do it
	}
	if noOpenat2.Load() {
		return openSteps(at, rel, flags, perm)
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm) // the call refuses a mode that it has no use for
	}
	for {
		fd, err := unix.Openat2(at, rel, &how)
		switch err {
		case unix.EINTR:
			continue
		case unix.ENOSYS, unix.EPERM:
			// EPERM is what filters of containers answer to calls they do not know; should it be the file's, the steps
			// will say it again.
			noOpenat2.Store(true)
			return openSteps(at, rel, flags, perm)
		case unix.EAGAIN: // a folder on the way was renamed meanwhile
			return openSteps(at, rel, flags, perm)
		}
		return fd, err
	}
}

func syncFile(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Fsync(fd) })
	return err
}

func syncData(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Fdatasync(fd) })
	return err
}

// syncFolder takes EINVAL for done: some network file systems keep names safe without being asked, and say it so.
func syncFolder(fd int) error {
	if err := syncFile(fd); err != unix.EINVAL {
		return err
	}
	return nil
}

func renameExcl(from int, old string, at int, name string) error {
	return unix.Renameat2(from, old, at, name, unix.RENAME_NOREPLACE)
}

func swap(a int, aname string, b int, bname string) error {
	return unix.Renameat2(a, aname, b, bname, unix.RENAME_EXCHANGE)
}

// createNameless makes name by writing a file that has none and linking it when it is whole. It returns
// errors.ErrUnsupported, having left nothing, where the file system has no such files or the link cannot be made.
func createNameless(at int, name string, data []byte, perm uint32, sync bool) error {
	fd, err := openAt(at, ".", unix.O_WRONLY|unix.O_TMPFILE, perm)
	switch err {
	case nil:
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOENT:
		return errors.ErrUnsupported
	default:
		return err
	}
	defer unix.Close(fd)
	if err := fill(fd, data, sync); err != nil {
		return err
	}
	// By handle, which kernels before 6.10 grant to the superuser only; else by the name that /proc has for it.
	err = unix.Linkat(fd, "", at, name, unix.AT_EMPTY_PATH)
	if err != nil && err != unix.EEXIST {
		var b [32]byte
		proc := strconv.AppendInt(append(b[:0], "/proc/self/fd/"...), int64(fd), 10)
		err = unix.Linkat(unix.AT_FDCWD, string(proc), at, name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil && err != unix.EEXIST {
		return errors.ErrUnsupported // without /proc, say; the other way will tell if it is something else
	}
	return err
}
