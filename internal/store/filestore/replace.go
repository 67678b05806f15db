package filestore

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// Replace stores data in place of the content old, by the rules of the class. A document of class Once is never rewritten.
func (s *Store) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	err := s.checkWrite(ctx, "replace", k)
	if err == nil && k.Kind.Spec().Class == store.Once {
		err = fmt.Errorf("replace %s: a %s is never rewritten", k, k.Kind)
	}
	if err == nil {
		err = s.checkSize(k, data)
	}
	if err == nil {
		err = s.replace(ctx, k, data, old)
	}
	if err != nil {
		return "", s.failWrite("replace", k, err)
	}
	return revOf(data), nil
}

func (s *Store) replace(ctx context.Context, k store.Key, data []byte, old store.Rev) error {
	rel, base := home(k)
	d, err := s.root.Sub(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	temps, tempRel := d, rel
	spec := k.Kind.Spec()
	if spec.TempPath != "" {
		tempRel = spec.TempPath
		if temps, err = s.makeHome(tempRel); err != nil {
			return err
		}
		defer temps.Close()
	}
	h, err := s.lock(ctx, k, d)
	if err != nil {
		return err
	}
	defer h.release()
	if err := s.still(k, d, base, old); err != nil {
		return err
	}
	full := spec.Durability == store.Full
	tmp, err := temps.Stage(data, filePerm, full)
	if err != nil {
		return err
	}
	defer temps.Remove(tmp) // what is left under that name: nothing, our own bytes, or those that were displaced
	if err := h.check(); err != nil {
		return err
	}
	switch {
	case spec.Class == store.Owned:
		if err = s.exchange(k, temps, tmp, d, base, old); err == nil && full {
			err = d.Sync()
		}
	case full:
		err = temps.Supplant(tmp, d, base)
	default:
		err = temps.Rename(tmp, d, base, true)
	}
	if err == nil {
		s.sweep(tempRel, temps)
	}
	return err
}

// still returns nil when the content of a file is old, and otherwise what the contract answers.
func (s *Store) still(k store.Key, d *atomicfile.Dir, base string, old store.Rev) error {
	data, _, err := s.readAt(d, base, k)
	if err != nil {
		return err
	}
	if old == "" || revOf(data) != old {
		return store.ErrConflict
	}
	return nil
}

// exchange gives a staged file the name of an owned document and looks at what it displaced. Our own processes are kept out
// by the lock; a foreign program may have written since we looked, and then its bytes are put back.
func (s *Store) exchange(k store.Key, temps *atomicfile.Dir, tmp string, d *atomicfile.Dir, base string, old store.Rev) error {
	ours, err := temps.Stat(tmp)
	if err != nil {
		return err
	}
	err = temps.Exchange(tmp, d, base)
	if errors.Is(err, errors.ErrUnsupported) {
		return temps.Rename(tmp, d, base, true) // the look under the lock must do
	}
	if err != nil {
		return err
	}
	err = s.still(k, temps, tmp, old)
	if err == nil {
		return nil
	}
	if back := putBack(temps, tmp, d, base, ours); back != nil {
		return back
	}
	if store.IsUnfit(err) {
		return err
	}
	return store.ErrConflict
}

// putBack undoes an exchange in which we put the file ours under the name. Each exchange moves to tmp the last file under the
// name: if that is not the file which we put there, another process has written since, and its file is newer than what we put
// back.
func putBack(temps *atomicfile.Dir, tmp string, d *atomicfile.Dir, base string, ours atomicfile.Info) error {
	for range 8 {
		theirs, err := temps.Stat(tmp)
		if err != nil {
			return err
		}
		if err := temps.Exchange(tmp, d, base); err != nil {
			return err
		}
		displaced, err := temps.Stat(tmp)
		if err != nil {
			return err
		}
		if displaced.Ino == ours.Ino && displaced.Dev == ours.Dev {
			return nil
		}
		ours = theirs
	}
	return fmt.Errorf("%s: another program rewrites it all the time: %w", base, store.ErrConflict)
}
