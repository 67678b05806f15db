package halt

import "syscall"

// times returns when the content and when the entry last changed, in nanoseconds since 1970.
func times(st *syscall.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }
