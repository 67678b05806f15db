//go:build !linux

package proc

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Owner returns the user id of a process.
func Owner(pid int) (uid int, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return -1, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return int(k.Eproc.Ucred.Uid), nil
}

// SpaceOf returns the pid namespace of a process, as [Space] does for this one.
func SpaceOf(int) (string, error) { return space(), nil }

// Dir returns the working directory of a process. This system does not tell.
func Dir(int) (string, error) { return "", errors.ErrUnsupported }

func terminal(int) string { return "" }
