package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/platform/smallfile"
)

// ReadState returns the content of a file in [App.StateDir], nothing where there is none. One with more than most bytes, or an
// entry that is not a file, is an error.
func (a *App) ReadState(name string, most int64) ([]byte, error) {
	dir, err := a.StateDir()
	if err != nil {
		return nil, err
	}
	data, _, err := smallfile.Read(filepath.Join(dir, name), most, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// AddState adds a line to a file in [App.StateDir] with one write, which is whole or not there for every other reader: two programs that do so at
// one moment lose none.
func (a *App) AddState(name, line string) error {
	dir, err := a.StateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := smallfile.Append(filepath.Join(dir, name), smallfile.NoLinks)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// MoveState gives a file in [App.StateDir] another name, under which what was there is replaced.
func (a *App) MoveState(name, to string) error {
	dir, err := a.StateDir()
	if err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, name), filepath.Join(dir, to))
}
