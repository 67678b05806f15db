// Package smallfile reads files whose size has a limit and whose place others may choose.
//
// It promises that a read never blocks on a pipe or a device, never reads more than the limit, and follows a link only when the caller
// says that links are the user's. Who may write the file is left to callers: they get what the system says about it.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular reports a folder, a pipe, a device or a socket.
var ErrNotRegular = errors.New("not a regular file")

// Links tells whether a link is followed.
type Links int

// A link that came with the work of others is refused; one in the user's own folders, or in a path that the user typed, is followed.
const (
	NoLinks Links = syscall.O_NOFOLLOW
	Follow  Links = 0
)

// Read returns the content of a regular file of at most limit bytes, and what the system says about the file that was read. The error is
// an [fs.PathError] that names the path; a file above the limit fails.
func Read(path string, limit int64, links Links) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|int(links), 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	fail := func(err error) ([]byte, fs.FileInfo, error) {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return fail(ErrNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(data)) > limit:
		return fail(fmt.Errorf("more than %d bytes", limit))
	}
	return data, info, nil
}

// Cause is the error without the operation and the path, for callers that name the path themselves.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
