//go:build !linux

package filelock

import "time"

// sinceBoot: macOS notes the start of a process by the wall clock, once, so that is what can be compared.
func sinceBoot(start time.Time) int64 { return start.UnixMilli() }
