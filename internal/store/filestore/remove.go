package filestore

import (
	"context"
	"errors"
	"io/fs"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// Delete removes a document whose content is old.
func (s *Store) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	err := s.checkWrite(ctx, "delete", k)
	if err == nil {
		err = s.remove(ctx, k, old)
	}
	return s.failWrite("delete", k, err)
}

func (s *Store) remove(ctx context.Context, k store.Key, old store.Rev) error {
	rel, base := home(k)
	d, err := s.root.Sub(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	h, err := s.guard(ctx, k, d)
	if err != nil {
		return err
	}
	defer h.release()
	if err := s.still(k, d, base, old); err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	if k.Kind.Spec().Class == store.Owned {
		err = s.takeAway(k, d, base, old)
	} else {
		err = d.Remove(base)
	}
	if err == nil && k.Kind.Spec().Durability == store.Full {
		err = d.Sync() // a blocker that was cleared must not stand again after a power cut
	}
	return err
}

// guard is the lock for taking a document away. Documents of class Once whose folder no foreign program locks need none: they
// never change, and a removal or rename has one winner.
func (s *Store) guard(ctx context.Context, k store.Key, d *atomicfile.Dir) (*held, error) {
	if spec := k.Kind.Spec(); spec.Class == store.Once && spec.Lock == "" {
		return nil, nil
	}
	return s.lock(ctx, k, d)
}

// takeAway removes an owned document, which a foreign program may write without a lock: it is renamed away, looked at, and put
// back if it is not what the caller had seen. A document that was written under the name since then is newer and stays.
func (s *Store) takeAway(k store.Key, d *atomicfile.Dir, base string, old store.Rev) error {
	temps := d
	if temp := k.Kind.Spec().TempPath; temp != "" {
		var err error
		if temps, err = s.makeHome(temp); err != nil {
			return err
		}
		defer temps.Close()
	}
	tmp, err := temps.Stage(nil, filePerm, false) // a name of our own to take it to
	if err != nil {
		return err
	}
	defer temps.Remove(tmp)
	if err := d.Rename(base, temps, tmp, true); err != nil {
		return err
	}
	changed := s.still(k, temps, tmp, old)
	if changed == nil {
		return nil
	}
	if err := temps.Rename(tmp, d, base, false); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return changed
}

// Move takes a document away to another key by a rename that does not replace. Who loses the race finds nothing at the source.
func (s *Store) Move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	err := s.checkWrite(ctx, "move", from)
	if err == nil {
		err = s.checkWrite(ctx, "move to", to)
	}
	if err == nil {
		err = s.move(ctx, from, old, to)
	}
	return s.failWrite("move", from, err)
}

func (s *Store) move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	rel, base := home(from)
	d, err := s.root.Sub(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	h, err := s.guard(ctx, from, d)
	if err != nil {
		return err
	}
	defer h.release()
	data, info, err := s.readAt(d, base, from)
	switch {
	case err != nil:
		return err
	case s.halfMoved(from, info):
		_ = d.Remove(base) // the first half had a winner already; the next caller finds nothing, with or without this step
		return store.ErrNotFound
	case old == "" || revOf(data) != old:
		return store.ErrConflict
	}
	if err := s.checkSize(to, data); err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	return s.rename(from, d, base, to)
}

// rename is the last step of a move. The target's folder may be removed just when it is needed, so it is made again.
func (s *Store) rename(from store.Key, d *atomicfile.Dir, base string, to store.Key) error {
	rel, name := home(to)
	var err error
	for range tries {
		var target *atomicfile.Dir
		if target, err = s.makeHome(rel); err != nil {
			return s.failWrite("move to", to, err)
		}
		err = d.Rename(base, target, name, false)
		switch {
		case errors.Is(err, fs.ErrExist):
			err = &store.ExistsError{Key: to, Rev: s.revAt(to)}
		case err == nil && to.Kind.Spec().Durability == store.Full:
			if err = target.Sync(); err == nil {
				err = d.Sync()
			}
		}
		target.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, gone := d.Stat(base); gone != nil {
			return gone // another process took it
		}
	}
	return err
}
