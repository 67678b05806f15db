package filelock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot gives the start of a process in milliseconds from boot. The system counts it so; the wall clock that Options.Proc
// answers by may be set between two looks, and then one process would seem to be two.
func sinceBoot(start time.Time) int64 {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return 0
	}
	return (time.Duration(up.Nano()) - time.Since(start)).Milliseconds()
}
