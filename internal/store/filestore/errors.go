package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"tutti/internal/atomicfile"
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
		return fmt.Errorf("%s %s: %w", op, k, store.ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", op, k, err)
}

// failWrite is fail for operations that change something.
func (s *Store) failWrite(op string, k store.Key, err error) error {
	for _, no := range [...]error{unix.EROFS, unix.EACCES, unix.EPERM} {
		if errors.Is(err, no) && !told(err) {
			return fmt.Errorf("%s %s: %w: %w", op, k, store.ErrReadOnly, err)
		}
	}
	return s.fail(op, k, err)
}

// told tells whether an error says already which operation on what has failed, and needs no more words.
func told(err error) bool {
	switch err.(type) {
	case *store.ExistsError, *store.UnfitError, *store.HeldError:
		return true
	}
	return err == context.Canceled || err == context.DeadlineExceeded
}
