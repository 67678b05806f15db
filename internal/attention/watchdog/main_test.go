package watchdog

import (
	"fmt"
	"os"
	"testing"
)

// TestMain puts the sockets of tmux where no server of the user is, below a short path: that of a socket may have 107 bytes.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "tb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMUX_TMPDIR", dir)
	os.Unsetenv("TMUX")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
