package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// checkForkLock finds files that take the lock of [syscall.ForkLock] and call progfile.Write, which takes it as well. Two read locks in one
// goroutine wait for ever once another goroutine wants to start a process in between.
func checkForkLock(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		if own(path) == "" {
			continue
		}
		for _, file := range slices.Concat(p.GoFiles, p.TestFiles) {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if locksTwice(data) {
				faults = append(faults, path+"/"+file+": takes syscall.ForkLock and calls progfile.Write, which takes it too")
			}
		}
	}
	return faults
}

func locksTwice(src []byte) bool {
	return bytes.Contains(src, []byte("progfile"+".Write(")) && bytes.Contains(src, []byte("syscall.ForkLock."))
}

func TestForkLockFindsFaults(t *testing.T) {
	t.Parallel()
	const lock, write = "\tsyscall.ForkLock.RLock()\n", "\tprogfile" + ".Write(path, nil, 0o700)\n"
	if locksTwice([]byte(lock)) || locksTwice([]byte(write)) || !locksTwice([]byte(lock+write)) {
		t.Error("one of the two is a fault, or both are none")
	}
}
