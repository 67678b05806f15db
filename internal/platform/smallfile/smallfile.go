// Package smallfile opens files and folders whose place others may choose.
//
// It promises that nothing blocks on a pipe or a device, that [Read] never reads more than its limit, and that a link is followed only
// when the caller says that links are the user's. Who may write the file is left to callers: they get what the system says about it.
// Below a bus, atomicfile does the same by handle; everything else is opened here.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
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
	f, err := Open(path, links)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(data)) > limit:
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d bytes", limit)}
	}
	return data, info, nil
}

// Open opens a regular file for reading. Anything else is [ErrNotRegular].
func Open(path string, links Links) (*os.File, error) {
	return regular(path, os.O_RDONLY|int(links), 0)
}

// Append opens a regular file to add to its end, and makes it with mode 0600.
func Append(path string, links Links) (*os.File, error) {
	return regular(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|int(links), 0o600)
}

func regular(path string, flags int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, perm)
	switch {
	case errors.Is(err, syscall.ENXIO): // a pipe without a reader, or a socket
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenDir opens a folder to read the names in it.
func OpenDir(path string, links Links) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|int(links), 0)
}

// ReadDir lists a folder by name, as [os.ReadDir] does.
func ReadDir(path string, links Links) ([]fs.DirEntry, error) {
	d, err := OpenDir(path, links)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.ReadDir(-1)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, err
}

// OpenRoot is [os.OpenRoot] that fails for a pipe and does not wait for its writer: the step after the name makes the system want a folder.
func OpenRoot(path string) (*os.Root, error) { return os.OpenRoot(path + "/.") }

// Cause is the error without the operation and the path, for callers that name the path themselves.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
