package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A OpenedRoot is the folder of a bus as it was when it was opened. What is open is still read and written when the folder was moved or
// removed, without anybody else ever seeing it; so programs that run for long look.
type OpenedRoot struct {
	path, shown string
	info        fs.FileInfo // nil when it could not be looked at
}

// OpenedRoot remembers where the bus lies now.
func (w *World) OpenedRoot() OpenedRoot {
	info, _ := os.Stat(w.Root.Path) // without it nothing is missed but a word of warning
	return OpenedRoot{w.Root.Path, w.App.Shown(w.Root.Path), info}
}

// A StrayError reports a bus that was moved, removed or replaced while it was open.
type StrayError struct {
	Shown    string
	Replaced bool
}

func (e *StrayError) Error() string {
	if e.Replaced {
		return fmt.Sprintf("the bus at %s was replaced by another one", e.Shown)
	}
	return fmt.Sprintf("the bus at %s is not there any more", e.Shown)
}

// Astray reports whether the bus is still where it was found: nil, or a *StrayError. A place that cannot be looked at now
// proves nothing.
func (p OpenedRoot) Astray() error {
	if p.info == nil {
		return nil
	}
	now, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StrayError{Shown: p.shown}
	case err == nil && !os.SameFile(p.info, now):
		return &StrayError{Shown: p.shown, Replaced: true}
	}
	return nil
}
