//go:build !linux

package terminal

import "errors"

// New returns an error: the caller has to look by itself.
func New() (*Watcher, error) { return nil, errors.ErrUnsupported }

// Arm does nothing: there is no watcher here.
func (w *Watcher) Arm(string) error { return errors.ErrUnsupported }
