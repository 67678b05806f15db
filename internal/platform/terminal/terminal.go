// Package terminal tells when a program writes to a terminal, so that a screen need not be read again while nothing changes on it.
//
// It promises one signal after a write to a terminal that was given to [Watcher.Arm], and none for later ones until it is given again:
// a program that writes all the time wakes nothing more often than its caller reads. It does not report
// typed keys that the program does not show, nor changes to a screen that tmux makes, such as clearing it.
package terminal

import (
	"os"
	"strconv"
	"strings"
)

// A Watcher waits for writes to terminals.
type Watcher struct {
	C    <-chan struct{} // one signal stands for many
	file *os.File
}

// Of is the terminal that a process reads from, "" where that is none or not known.
func Of(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/0")
	if err != nil || !strings.HasPrefix(path, "/dev/pts/") {
		return ""
	}
	return path
}

// Close ends the watcher.
func (w *Watcher) Close() { _ = w.file.Close() }
