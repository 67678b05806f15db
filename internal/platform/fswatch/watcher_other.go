//go:build !linux

package fswatch

import (
	"fmt"
	"runtime"
)

// A Watcher stands for the kernel's watcher. This system has none that reports what is needed.
type Watcher struct{}

// Start returns an error that wraps [ErrNoWatcher].
func Start() (*Watcher, error) {
	return nil, fmt.Errorf("%w: not used on %s", ErrNoWatcher, runtime.GOOS)
}

// Shared returns the same as [Start].
func Shared() (*Watcher, error) { return Start() }

// Add is never reached: there is no Watcher.
func (w *Watcher) Add(string, Options) (*Sub, error) { return nil, errClosed }

// Notify is never reached: there is no Watcher.
func (w *Watcher) Notify(string, string) (<-chan struct{}, func(), error) {
	return nil, func() {}, errClosed
}

// Close does nothing.
func (w *Watcher) Close() error { return nil }
