package index

import "golang.org/x/sys/unix"

// getPages asks the system for the memory of b, which was just made and is large, in one call: to get it page by page, as each
// is written for the first time, takes as long as to fill it. It is a wish. A Linux before 5.14 refuses it, and so does one with
// pages that are larger than those b begins at; then they come one by one.
func getPages(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_WRITE) }
