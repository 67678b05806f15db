package app

import (
	"path/filepath"

	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
)

// HaltLook returns a channel that delivers whenever the halt switch may have changed, for the functions of package halt
// that take one, and what gives the watcher back. The channel is nil when the kernel grants no watcher: halt then looks
// by itself.
func (a *App) HaltLook() (look <-chan struct{}, stop func()) {
	path := halt.Path()
	if path == "" {
		return nil, func() {}
	}
	look, stop, err := fswatch.Notify(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return nil, func() {}
	}
	return look, stop
}

// WatcherFault tells why the kernel's watcher is not to be had for a folder, nil when it is.
func WatcherFault(dir string) error {
	sub := fswatch.Watch(dir, fswatch.Options{})
	defer sub.Close()
	return sub.Reason()
}
