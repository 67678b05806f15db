package hook

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/core/termsafe"
)

const (
	logName = "hook.log"
	// maxLog is the size at which the log is put aside under the name hook.log.1, in the place of the one before.
	maxLog  = 1 << 20
	maxLine = 1 << 10
)

// Log writes a line to the log of hooks, below this user's folder of state. Nobody is told when that fails: there is no place.
func Log(state, what string, err error, now time.Time) {
	if state == "" || err == nil {
		return
	}
	line := now.UTC().Format(time.RFC3339) + " " + what + ": " + err.Error()
	line = termsafe.Head(termsafe.Clean(strings.ReplaceAll(line, "\n", "; ")), maxLine) + "\n"
	if os.MkdirAll(state, 0o700) != nil {
		return
	}
	path := filepath.Join(state, logName)
	if i, err := os.Lstat(path); err == nil && i.Size() >= maxLog {
		_ = os.Rename(path, path+".1")
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if i, err := f.Stat(); err == nil && i.Mode().IsRegular() {
		_, _ = f.WriteString(line)
	}
}
