//go:build !linux

package main

import "errors"

// syncAll reports that this system has no such call.
func syncAll(string) error { return errors.ErrUnsupported }
