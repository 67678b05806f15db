package full

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/app"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/sessions/lifecycle"
)

// What this user has started in sessions lies with the user, outside of every registry, for a registry may have come with a repository
// of somebody else. The file has a line for each command, the SHA-256 of it in hexadecimal digits; the arguments themselves may be
// nobody's business.

// maxStarted bounds what is read of the file: 16,000 commands.
const maxStarted = 1 << 20

// Started remembers what this user has started in sessions.
func Started(a *app.App) lifecycle.Started {
	return lifecycle.Started{Known: func(command string) (bool, error) { return startedBefore(a, command) }, Remember: func(command string) error { return rememberStarted(a, command) }}
}

func startedLine(command string) []byte {
	sum := sha256.Sum256([]byte(command))
	return append(hex.AppendEncode(nil, sum[:]), '\n')
}

func startedPath(a *app.App) (string, error) {
	dir, err := a.StateDir()
	return filepath.Join(dir, "started"), err
}

func startedBefore(a *app.App, command string) (bool, error) {
	path, err := startedPath(a)
	if err != nil {
		return false, err
	}
	data, err := readStarted(path)
	return bytes.Contains(data, startedLine(command)), err
}

func readStarted(path string) ([]byte, error) {
	d, err := atomicfile.OpenDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read commands: %w", err)
	}
	defer d.Close()
	data, _, err := d.Read(filepath.Base(path), maxStarted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read commands: %w", err)
	}
	return data, nil
}

// rememberStarted keeps a command. A line is written in one step, so two programs that do so at one moment lose none.
func rememberStarted(a *app.App, command string) error {
	path, err := startedPath(a)
	if err != nil {
		return err
	}
	data, err := readStarted(path)
	line := startedLine(command)
	if err != nil || bytes.Contains(data, line) {
		return err
	}
	if len(data)+len(line) > maxStarted {
		return fmt.Errorf("remember command: %s is full; it may be removed", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("remember command: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("remember command: %w", err)
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("remember command: %w", err)
	}
	return nil
}
