// Package hometest makes home folders for tests.
package hometest

import (
	"os"
	"testing"
	"time"
)

// Dir makes a folder whose path is short enough for sockets, unlike that of [testing.TB.TempDir]. Something may still write into it
// while it is removed: an action that is halted ends before its halt has been counted. The test fails when that goes on for a minute.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "th")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("the folder of the test cannot be removed: %v", err)
				return
			}
		}
	})
	return dir
}
