package watcher

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/termsafe"
	"tutti/internal/platform/smallfile"
)

// A Line says that a file came into the mailbox of a project.
type Line struct {
	At         time.Time
	Project    string
	File       string
	Suppressed bool // the halt switch was on: no notice was shown
}

// suppressed marks a line in the log.
const suppressed = "(suppressed by HALT)"

// String returns the line as written in the log: fields separated by tabs, without the end of a line.
func (l Line) String() string {
	s := protocol.FormatTime(l.At) + "\t" + field(l.Project) + "\t" + field(l.File)
	if l.Suppressed {
		s += "\t" + suppressed
	}
	return s
}

// field makes a text one field.
func field(s string) string { return strings.ReplaceAll(termsafe.Clean(s), "\t", " ") }

// A logbook is the open log. One that cannot be opened or written is reported once, and kept no longer.
type logbook struct {
	path string // "": none is kept
	f    *os.File
	warn func(key, text string)
}

func openLog(path string, warn func(key, text string)) *logbook {
	l := &logbook{path: path, warn: warn}
	if path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			l.fail(err)
			return l
		}
		l.open()
	}
	return l
}

func (l *logbook) open() {
	f, err := smallfile.Append(l.path, smallfile.Follow)
	if err != nil {
		l.fail(err)
		return
	}
	l.f = f
}

func (l *logbook) fail(err error) { l.warn("log", fmt.Sprintf("no log is kept: %v", err)) }

func (l *logbook) kept() bool { return l.f != nil }

func (l *logbook) close() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// write appends a line in one step.
func (l *logbook) write(line Line) {
	if l.f == nil {
		return
	}
	if _, err := l.f.WriteString(line.String() + "\n"); err != nil {
		l.warn("log write", fmt.Sprintf("a line could not be written to the log: %v", err))
	}
}

// follow opens the log again when it was moved away or removed.
func (l *logbook) follow() {
	if l.path == "" {
		return
	}
	if l.f != nil {
		mine, err := l.f.Stat()
		there, err2 := os.Stat(l.path)
		if err == nil && err2 == nil && os.SameFile(mine, there) {
			return
		}
		l.close()
	}
	l.open()
}

// memory is how much of the end of a log is read to learn what was reported: some ten thousand lines.
const memory = 1 << 20

// told reads which messages were reported, as project and file.
func (l *logbook) told() map[string]bool {
	seen := map[string]bool{}
	if l.path == "" {
		return seen
	}
	f, err := smallfile.Open(l.path, smallfile.Follow)
	if err != nil {
		return seen
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return seen
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(info.Size()-memory, 0), memory))
	if err != nil {
		return seen
	}
	for line := range bytes.Lines(data) {
		fields := strings.Split(strings.TrimRight(string(line), "\n"), "\t")
		if len(fields) == 3 {
			seen[keyOf(fields[1], fields[2])] = true
		}
	}
	return seen
}

// keyOf names a message of a project as the log does.
func keyOf(project, file string) string { return field(project) + "\t" + field(file) }
