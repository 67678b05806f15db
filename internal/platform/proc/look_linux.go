package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Owner returns the user id of a process.
func Owner(pid int) (uid int, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path(pid, ""), &st); err != nil {
		return -1, gone(pid, err)
	}
	return int(st.Uid), nil
}

// SpaceOf returns the pid namespace of a process, as [Space] does for this one.
func SpaceOf(pid int) (string, error) {
	name, err := os.Readlink(path(pid, "ns/pid"))
	if err != nil {
		return "", gone(pid, err)
	}
	return name, nil
}

// Dir returns the working directory of a process.
func Dir(pid int) (string, error) {
	dir, err := os.Readlink(path(pid, "cwd"))
	if err != nil {
		return "", gone(pid, err)
	}
	return dir, nil
}

// The major device numbers of terminals: pseudo-terminals have eight, of 256 each.
const (
	majorTTY      = 4
	majorFirstPTS = 136
	majorLastPTS  = 143
)

func terminal(tty int) string {
	dev := uint64(uint32(tty))
	minor := unix.Minor(dev)
	switch major := unix.Major(dev); {
	case major >= majorFirstPTS && major <= majorLastPTS:
		return "pts/" + strconv.Itoa(int((major-majorFirstPTS)<<8+minor))
	case major == majorTTY && minor > 0 && minor < 64:
		return "tty" + strconv.Itoa(int(minor))
	}
	return ""
}
