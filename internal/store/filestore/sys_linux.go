package filestore

import "golang.org/x/sys/unix"

// localFS tells whether the file system of an open folder is one of those that live on this machine. Network and user-space
// file systems have coarser clocks and other manners with unsynced data; an unknown one counts as such.
func localFS(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.F2FS_SUPER_MAGIC, unix.RAMFS_MAGIC, zfsMagic, bcachefsMagic:
		return true
	}
	return false
}

// Numbers that x/sys does not have: include/linux/magic.h has none for ZFS, its own headers do.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)

// syncFS makes everything that was written to the file system of an open folder survive a power cut, and tells whether the
// system can do that. Since Linux 5.8 it reports the errors of writing back, and it is asked for local file systems only:
// those in user space are not told of it.
func syncFS(fd int) (bool, error) {
	if err := unix.Syncfs(fd); err != unix.ENOSYS {
		return true, err
	}
	return false, nil
}
