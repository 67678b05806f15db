package full

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
)

// The commands that this user has started in sessions are kept with the user, outside of every registry, because a registry may
// have come with a foreign repository. The file has a line for each command, the SHA-256 of it in hexadecimal digits; the
// arguments themselves may be private.

// maxStarted bounds what is read of the file: 16,000 commands.
const maxStarted = 1 << 20

// Started remembers what this user has started in sessions.
func Started(a *app.App) lifecycle.Started {
	s := started{a, startedFile}
	return lifecycle.Started{Known: s.known, Remember: s.remember}
}

// Submitted remembers the jobs that this user has submitted, or has trusted. When the file is full the one before it is forgotten.
func Submitted(a *app.App) job.Memory {
	s, old := started{a, submittedFile}, started{a, submittedFile + ".old"}
	return job.Memory{
		Known: func(mark string) (bool, error) {
			if known, err := s.known(mark); known || err != nil {
				return known, err
			}
			return old.known(mark)
		},
		Remember: func(mark string) error {
			if all, err := s.read(); err == nil && len(all) > maxStarted-len(startedLine("")) {
				if err := a.MoveState(s.file, old.file); err != nil {
					return err
				}
			}
			return s.remember(mark)
		},
	}
}

// started is one such file.
type started struct {
	*app.App
	file string
}

const (
	startedFile   = "started"
	submittedFile = "submitted"
)

func startedLine(command string) string {
	return fmt.Sprintf("%x\n", sha256.Sum256([]byte(command)))
}

func (s started) read() (string, error) {
	data, err := s.ReadState(s.file, maxStarted)
	if err != nil {
		return "", fmt.Errorf("read what was started: %w", err)
	}
	return string(data), nil
}

func (s started) known(command string) (bool, error) {
	all, err := s.read()
	return strings.Contains(all, startedLine(command)), err
}

func (s started) remember(command string) error {
	all, err := s.read()
	line := startedLine(command)
	if err != nil || strings.Contains(all, line) {
		return err
	}
	if len(all)+len(line) > maxStarted {
		dir, _ := s.StateDir() // it was read
		return fmt.Errorf("remember command: %s is full; it may be removed", filepath.Join(dir, s.file))
	}
	if err := s.AddState(s.file, line); err != nil {
		return fmt.Errorf("remember command: %w", err)
	}
	return nil
}
