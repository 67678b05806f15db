package filelock

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReleaseBesideFork: the handle that a child has between fork and exec does not keep the lock.
func TestReleaseBesideFork(t *testing.T) {
	t.Parallel()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	fd := int(dir.Fd())
	k, err := tryKernel(fd, ".flock")
	if err != nil || k == nil {
		t.Fatal(k, err)
	}
	child, err := unix.Dup(k.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	k.unlock()
	if k, err = tryKernel(fd, ".flock"); err != nil || k == nil {
		t.Fatal("a child that has the handle keeps the lock:", err)
	}
	k.unlock()
}
