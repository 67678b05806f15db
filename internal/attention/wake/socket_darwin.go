package wake

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxPath is what the system has room for, without the zero at the end.
const maxPath = 103

func pathIn(folder *os.File, name string) (string, error) {
	path := filepath.Join(folder.Name(), name)
	if len(path) > maxPath {
		return "", fmt.Errorf("the path has %d bytes; the path of a socket has at most %d", len(path), maxPath)
	}
	return path, nil
}

// peer is the user of the process at the other end.
func peer(fd int) (uid int, err error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(c.Uid), nil
}
