package wake

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pathIn is a path of an entry of an open folder that is short however deep the folder is, and that stays right when another
// folder is put into its place.
func pathIn(folder *os.File, name string) (string, error) {
	return "/proc/self/fd/" + strconv.Itoa(int(folder.Fd())) + "/" + name, nil
}

// peer is the user of the process at the other end.
func peer(fd int) (uid int, err error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(c.Uid), nil
}
