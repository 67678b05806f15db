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
// errors.ErrUnsupported, having left nothing, where the file system has no such files or the link cannot be made. Kept tells
// that the name is as safe as the content, so that the folder need not be synced.
//
// With sync the file is synced twice. The first time makes the content safe before anybody can find it. But what then lies on
// the disk is a file that no name counts for, and where no journal ties the count to the name, syncing the folder writes the
// name alone: after a power cut e2fsck takes such a file for a deleted one and removes the name (of 700 files made that way on
// an ext4 without a journal, 44 were gone). The second time, after the link, writes the count.
func createNameless(at int, name string, data []byte, perm uint32, sync bool) (kept bool, err error) {
	fd, err := openNameless(at, perm)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := fill(fd, data, sync); err != nil {
		return false, err
	}
	if err := linkNameless(fd, at, name); err != nil || !sync {
		return false, err
	}
	if err := syncFile(fd); err != nil {
		return false, err
	}
	return syncsNames(fd), nil
}

// openNameless makes a file without a name, or says errors.ErrUnsupported where there are none.
func openNameless(at int, perm uint32) (int, error) {
	fd, err := openAt(at, ".", unix.O_WRONLY|unix.O_TMPFILE, perm)
	switch err {
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOENT:
		return -1, errors.ErrUnsupported
	}
	return fd, err
}

// linkNameless goes by handle, which kernels before 6.10 grant to the superuser only; else by the name that /proc has for it.
func linkNameless(fd, at int, name string) error {
	err := unix.Linkat(fd, "", at, name, unix.AT_EMPTY_PATH)
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

// syncsNames tells whether a sync of an open file is known to make a name safe that it was given since the last one. ext4 does
// so by design, with a journal (name and count are one transaction) and without (ext4_sync_parent writes the folder, too), and
// there the sync of the folder that is saved is a third of the price of a file. The old driver for ext2, which has the same
// number and does not, is recognised by its files having no time of birth.
func syncsNames(fd int) bool {
	var f unix.Statfs_t
	if err := unix.Fstatfs(fd, &f); err != nil || uint32(f.Type) != unix.EXT4_SUPER_MAGIC {
		return false
	}
	var x unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x)
	return err == nil && x.Mask&unix.STATX_BTIME != 0
}
