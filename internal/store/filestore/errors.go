package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// fail makes the error of an operation: what the contract has a name for gets it, and the system's own words stay in.
func (s *Store) fail(op string, k store.Key, err error) error {
	if err == nil || told(err) {
		return err
	}
	if u, ok := errors.AsType[*atomicfile.UnfitError](err); ok {
		return &store.UnfitError{Key: k, Where: u.Name, Why: u.Why}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = store.ErrNotFound
	}
	if k.Name != "" && !k.Kind.Spec().IsLog() && errors.Is(err, fs.ErrPermission) {
		// One file that only its owner can read must not hide those beside it.
		return &store.UnfitError{Key: k, Where: pathOf(k), Why: "this user may not read it"}
	}
	if k.Name == "" && k.Owner != "" && errors.Is(err, fs.ErrPermission) {
		// Nor must the folder of one owner hide those of others.
		return &store.UnfitError{Key: k, Where: folderPath(k.Kind, k.Owner), Why: "this user may not open it"}
	}
	return &opError{op, k, err}
}

// An opError is what failed. The text is made when it is read: that something is not there is an answer that most callers
// expect.
type opError struct {
	op  string
	key store.Key
	err error
}

func (e *opError) Error() string { return e.op + " " + e.key.String() + ": " + e.err.Error() }

func (e *opError) Unwrap() error { return e.err }

// failWrite is fail for operations that change something.
func (s *Store) failWrite(op string, k store.Key, err error) error {
	if !told(err) && systemRefuses(err) {
		return fmt.Errorf("%s %s: %w: %w", op, k, store.ErrReadOnly, err)
	}
	return s.fail(op, k, err)
}

// systemRefuses tells whether the system does not let us write: a file system that is mounted so, or rights.
func systemRefuses(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// told tells whether an error says already which operation on what has failed, and needs no more words.
func told(err error) bool {
	switch err.(type) {
	case *store.ExistsError, *store.UnfitError, *store.HeldError:
		return true
	}
	return err == context.Canceled || err == context.DeadlineExceeded
}
