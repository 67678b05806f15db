package crashtest

import "golang.org/x/sys/unix"

// followsNames tells whether a path lies on ext4, whose sync of a file takes the new names of the file along, with a journal
// and without. The driver for ext2 has the same number, but no times of birth.
func followsNames(path string) bool {
	var f unix.Statfs_t
	var x unix.Statx_t
	return unix.Statfs(path, &f) == nil && uint32(f.Type) == unix.EXT4_SUPER_MAGIC &&
		unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &x) == nil && x.Mask&unix.STATX_BTIME != 0
}
