//go:build !linux

package kit

import (
	"os"

	"golang.org/x/sys/unix"
)

// UnnamedFile is a file that nobody else finds.
func UnnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "tutti-input-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// BecomeInput makes a file the standard input, of what is executed next, too.
func BecomeInput(f *os.File) error { return unix.Dup2(int(f.Fd()), int(os.Stdin.Fd())) }
