package filestore

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store/index"
)

// listsInodes tells whether inodesOf knows inodes, so that a name whose file was replaced is noticed without a look at each.
const listsInodes = true

// The layout of struct linux_dirent64: inode 8, offset 8, length 2, type 1, name up to a zero.
const (
	direntLength = 16
	direntName   = 19
)

// inodesOf lists a folder: the inode of each name that qualifies, about n of them. With a limit it stops when it has that many. An
// atomicfile.Dir lists names only.
func inodesOf(d *atomicfile.Dir, n, limit int, wanted func(name string) bool) (map[string]uint64, error) {
	own, err := d.Sub("") // a listing moves the position of its handle
	if err != nil {
		return nil, err
	}
	defer own.Close()
	buf := make([]byte, 64<<10)
	all := make(map[string]uint64, n)
	for limit <= 0 || len(all) < limit {
		n, err := unix.Getdents(own.FD(), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all, err
		}
		text := string(buf[:n]) // one piece of memory for the names in it
		for b := buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntLength:]))
			if size <= direntName || size > len(b) {
				break
			}
			end := bytes.IndexByte(b[direntName:size], 0)
			if end < 0 {
				end = size - direntName
			}
			if name := text[direntName:][:end]; name != "." && name != ".." && wanted(name) {
				all[name] = binary.NativeEndian.Uint64(b)
			}
			b, text = b[size:], text[size:]
		}
	}
	return all, nil
}

// identifier returns what tells the identity of the files of a folder by name, for one goroutine, as long as d is open. It is
// Stat without what keeps d open for each call: of ten thousand looks that was a third.
func identifier(d *atomicfile.Dir) func(name string) (index.Stat, bool) {
	fd := d.FD()
	return func(name string) (index.Stat, bool) {
		var st unix.Stat_t
		for {
			switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
			case nil:
				return index.Stat{Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}, true
			case unix.EINTR:
				continue
			}
			return index.Stat{}, false
		}
	}
}
