//go:build !linux

package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBeneath opens a slash path below a folder without following a link in any step, the last one included.
func openBeneath(at int, rel string, flags int, perm uint32) (int, error) {
	return openSteps(at, rel, flags, perm)
}

// syncFile: on macOS fsync stops at the cache of the drive; only this call goes through it.
func syncFile(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	_, err := again(func() (int, error) { return 0, unix.Fsync(fd) })
	return err
}

func syncData(fd int) error { return syncFile(fd) }

func syncFolder(fd int) error {
	if err := syncFile(fd); err != unix.EINVAL {
		return err
	}
	return nil
}

func renameExcl(from int, old string, at int, name string) error {
	return unix.RenameatxNp(from, old, at, name, unix.RENAME_EXCL)
}

func swap(a int, aname string, b int, bname string) error {
	return unix.RenameatxNp(a, aname, b, bname, unix.RENAME_SWAP)
}

// createNameless: only Linux has files that get their first name later.
func createNameless(int, string, []byte, uint32, bool) (kept bool, err error) {
	return false, errors.ErrUnsupported
}

func openNameless(int, uint32) (int, error) { return -1, errors.ErrUnsupported }

func linkNameless(int, int, string) error { return errors.ErrUnsupported }
