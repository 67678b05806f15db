// Package progfile writes the programs and scripts that a test runs.
package progfile

import (
	"os"
	"syscall"
)

// Write is os.WriteFile for what is to be run. A child that another test starts meanwhile would inherit the open file, and Linux runs no program that
// is open for writing.
func Write(path string, data []byte, perm os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, perm)
}
