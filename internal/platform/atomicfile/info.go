package atomicfile

import (
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// An Info is what the system knows of a file. Two Infos of one file are equal as long as the file was not written, renamed, or
// given other rights, within the grain of the file system's clock.
type Info struct {
	Dev, Ino uint64
	Size     int64
	Mtime    int64 // last write, nanoseconds since 1970; a program can set it back
	Ctime    int64 // last change of content, name or rights, nanoseconds since 1970; no program can set it
	Mode     uint32
	UID      uint32
	Nlink    uint64
	// Unstable is set by [Dir.Read] when the file changed while it was read, twice in a row. What was read may be used, as a
	// glance at something in motion; it must not be kept as the content that belongs to this Info.
	Unstable bool
}

// Regular reports whether it is a plain file.
func (i Info) Regular() bool { return i.Mode&unix.S_IFMT == unix.S_IFREG }

// Folder reports whether it is a folder.
func (i Info) Folder() bool { return i.Mode&unix.S_IFMT == unix.S_IFDIR }

// kind names what is not a plain file.
func (i Info) kind() string {
	switch i.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "is a symbolic link"
	case unix.S_IFDIR:
		return "is a folder"
	case unix.S_IFIFO:
		return "is a FIFO"
	case unix.S_IFSOCK:
		return "is a socket"
	}
	return "is a device"
}

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
		Mode: uint32(st.Mode), UID: st.Uid, Nlink: uint64(st.Nlink),
	}
}

func fstat(fd int) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

func lstatAt(fd int, name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

// Stat tells about name, a slash path below d; of a link it tells about the link itself.
func (d *Dir) Stat(name string) (Info, error) {
	if err := d.enter(); err != nil {
		return Info{}, err
	}
	defer d.leave()
	fd, base, done, err := d.at(name)
	if err != nil {
		return Info{}, d.fail("stat", name, err)
	}
	defer done()
	i, err := lstatAt(fd, base)
	if err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	return i, nil
}

// Self tells about the folder.
func (d *Dir) Self() (Info, error) {
	if err := d.enter(); err != nil {
		return Info{}, err
	}
	defer d.leave()
	i, err := fstat(d.fd)
	if err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	return i, nil
}

// euid is asked once: nothing of ours changes its user.
var euid = sync.OnceValue(func() uint32 { return uint32(unix.Geteuid()) })

// unfit says why a file that was opened below d must not be used, "" when it may.
func (d *Dir) unfit(i Info, max int64) string {
	switch {
	case !i.Regular():
		return i.kind()
	case max > 0 && i.Size > max:
		return "is too large"
	case i.UID == euid() || i.UID == 0:
		return ""
	}
	if own, err := fstat(d.fd); err == nil && own.UID == i.UID {
		return ""
	}
	return "belongs to another user"
}
