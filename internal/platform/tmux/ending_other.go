//go:build !linux

package tmux

import (
	"errors"
	"syscall"
)

// canHold: the system has no handles on processes; servers built for it miss no end.
const canHold = false

func ending(int) (ended func() bool, stop func(), err error) { return nil, nil, errors.ErrUnsupported }

// withUs: who waits for a server when this program is killed ends with the next signal.
func withUs() *syscall.SysProcAttr { return nil }
