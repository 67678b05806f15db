//go:build !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile is a file that nobody else finds.
func unnamedFile() (*os.File, error) {
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

// becomeInput makes a file the standard input, of what is executed next, too.
func becomeInput(f *os.File) error { return unix.Dup2(int(f.Fd()), int(os.Stdin.Fd())) }
