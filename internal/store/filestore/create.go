package filestore

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// tries is how often an operation begins again when its folder was removed, or the name it met was taken away, in between.
const tries = 4

// Create stores a document under a free name. Documents that programs change under a lock are created under it, because
// those programs look first and write then; all others rely on the link, which has one winner without any lock.
func (s *Store) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	err := s.checkWrite(ctx, "create", k)
	if err == nil {
		err = s.checkSize(k, data)
	}
	if err == nil {
		err = taken(s, k)
	}
	if err != nil {
		return "", err
	}
	rev := revOf(data)
	for range tries {
		if err = s.create(ctx, k, data, rev); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		err = s.takenMeanwhile(ctx, k, rev)
	}
	if err != nil {
		return "", s.failWrite("create", k, err)
	}
	return rev, nil
}

func (s *Store) create(ctx context.Context, k store.Key, data []byte, rev store.Rev) error {
	rel, base := home(k)
	d, err := s.makeHome(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	spec := k.Kind.Spec()
	if spec.Class == store.Locked {
		h, err := s.lock(ctx, k, d)
		if err != nil {
			return err
		}
		defer h.release()
		if err := h.check(); err != nil {
			return err
		}
	}
	full := spec.Durability == store.Full
	err = d.Create(base, data, filePerm, full)
	if errors.Is(err, fs.ErrExist) {
		return s.exists(k, d, base, rev)
	}
	if err == nil {
		s.sweep(rel, d)
	}
	return err
}

// exists makes the error for a name that is taken. Bytes equal to ours count as done for many callers, so they are made as
// durable as ours would be: their writer may have died before that.
func (s *Store) exists(k store.Key, d *atomicfile.Dir, base string, rev store.Rev) error {
	data, _, err := s.readAt(d, base, k)
	if errors.Is(err, store.ErrNotFound) {
		return fs.ErrNotExist // taken away meanwhile: begin again
	}
	found := store.Rev("")
	if err == nil {
		found = revOf(data)
	}
	if found == rev && k.Kind.Spec().Durability == store.Full {
		if err := syncBoth(d, base); err != nil {
			return err
		}
	}
	return &store.ExistsError{Key: k, Rev: found}
}

func syncBoth(d *atomicfile.Dir, base string) error {
	f, _, err := d.Open(base, false, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return d.Sync()
}

// taken refuses a message that was in the inbox before and is in the archive now.
func taken(s *Store, k store.Key) error {
	if k.Kind != store.Inbox {
		return nil
	}
	twin := archived(k)
	if _, ok := s.look(twin); !ok {
		return nil
	}
	return &store.ExistsError{Key: twin, Rev: s.revAt(twin)}
}

// takenMeanwhile looks into the archive once more, after the link. What is there now may be our own message, taken by its
// reader the moment it was visible: then it is delivered. Or it is one of the same name that was in the inbox when we looked
// first: then ours is taken back. A second reader who met our copy was refused it, because Move found the archive taken.
func (s *Store) takenMeanwhile(ctx context.Context, k store.Key, rev store.Rev) error {
	err := taken(s, k)
	if err == nil {
		return nil
	}
	gone := s.Delete(ctx, k, rev)
	var exists *store.ExistsError
	switch {
	case gone == nil:
		return err
	case !errors.Is(gone, store.ErrNotFound):
		return gone
	case errors.As(err, &exists) && exists.Rev == rev:
		return nil
	}
	return err
}

// archived is the key that a message of the inbox has once it was taken.
func archived(k store.Key) store.Key {
	return store.Key{Kind: store.Archive, Owner: k.Owner, Name: k.Name}
}

// look reports with one system call whether a plain file exists at a key. Links on the way are followed; this only lets a
// process that may write here anyway choose the answer; nothing is read.
func (s *Store) look(k store.Key) (unix.Stat_t, bool) {
	var st unix.Stat_t
	err := unix.Fstatat(s.root.FD(), pathOf(k), &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// halfMoved reports whether a message of the inbox was half moved, on a system whose rename cannot refuse to replace: by a link
// and a removal, only the first of which happened. Then the archive has the same file.
func (s *Store) halfMoved(k store.Key, i atomicfile.Info) bool {
	if k.Kind != store.Inbox || i.Nlink < 2 {
		return false
	}
	st, ok := s.look(archived(k))
	return ok && uint64(st.Ino) == i.Ino && uint64(st.Dev) == i.Dev
}
