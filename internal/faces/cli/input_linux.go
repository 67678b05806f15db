package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile is a file in memory.
func unnamedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "input"), nil
}

// becomeInput makes a file the standard input, of what is executed next, too.
func becomeInput(f *os.File) error { return unix.Dup3(int(f.Fd()), int(os.Stdin.Fd()), 0) }
