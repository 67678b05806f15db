// Package hometest makes home folders for tests.
package hometest

import (
	"os"
	"testing"
	"time"
)

// Dir is [testing.TB.TempDir] for a home in which an action is halted: the action ends while its halt is still being counted, so
// something may write into the folder while it is removed. The test fails when that goes on for a minute.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "home")
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
				t.Errorf("remove the home: %v", err)
				return
			}
		}
	})
	return dir
}
