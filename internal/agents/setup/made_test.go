package setup

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestFolderCreatedDuringSetup: a folder that is created and removed all the time is there or missing. It is never mistaken for a link.
func TestFolderCreatedDuringSetup(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "made")
	stop := make(chan struct{})
	var maker sync.WaitGroup
	maker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Mkdir(dir, 0o700)
				_ = os.Remove(dir)
			}
		}
	})
	for range 2000 {
		if got, err := resolve(filepath.Join(dir, "file")); err != nil || got != filepath.Join(dir, "file") {
			t.Errorf("got %q, %v", got, err)
			break
		}
	}
	close(stop)
	maker.Wait()
}
