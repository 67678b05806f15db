package kit

import (
	"os"

	"golang.org/x/sys/unix"
)

// UnnamedFile is a file in memory.
func UnnamedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "input"), nil
}

// BecomeInput makes a file the standard input, of what is executed next, too.
func BecomeInput(f *os.File) error { return unix.Dup3(int(f.Fd()), int(os.Stdin.Fd()), 0) }
