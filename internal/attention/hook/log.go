package hook

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/platform/smallfile"
)

const (
	logName = "hook.log"
	// maxLog is the size at which the log is put aside under the name hook.log.1, in the place of the one before.
	maxLog  = 1 << 20
	maxLine = 1 << 10
)

// Log writes a line to the log of hooks, below this user's folder of state. A failure is not reported: there is no place for
// it.
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
	f, err := smallfile.Append(path, smallfile.NoLinks)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(line)
}
