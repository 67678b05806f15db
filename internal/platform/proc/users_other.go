//go:build !linux

package proc

import "errors"

// A User is a process that uses a folder.
type User struct {
	PID  int
	Name string
}

// Users is not known here.
func Users(string) ([]User, error) { return nil, errors.ErrUnsupported }
