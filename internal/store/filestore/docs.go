package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"strings"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// revOf names a content: the first 16 bytes of its SHA-256, in hex.
func revOf(data []byte) store.Rev {
	sum := sha256.Sum256(data)
	return store.Rev(hex.EncodeToString(sum[:16]))
}

// check is the door of every method for documents.
func check(ctx context.Context, op string, k store.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := k.Check(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if k.Kind.Spec().IsLog() {
		return fmt.Errorf("%s %s: it is a log, no document", op, k)
	}
	if atomicfile.IsTemp(fileName(k)) {
		return fmt.Errorf("%s %s: the name is one of temporary files", op, k)
	}
	return nil
}

// checkWrite is check for methods that change something.
func (s *Store) checkWrite(ctx context.Context, op string, k store.Key) error {
	if err := check(ctx, op, k); err != nil {
		return err
	}
	if s.readOnly {
		return fmt.Errorf("%s %s: %w", op, k, store.ErrReadOnly)
	}
	return nil
}

// checkSize refuses data above the write limit of the kind.
func (s *Store) checkSize(k store.Key, data []byte) error {
	if limit := k.Kind.Spec().WriteLimit; int64(len(data)) > limit {
		return &store.UnfitError{Key: k, Where: k.String(), Why: fmt.Sprintf("has %d bytes, at most %d are written", len(data), limit)}
	}
	return nil
}

// readFile reads a document in the open folder of its kind and owner.
func (s *Store) readFile(d *atomicfile.Dir, k store.Key) (data []byte, info atomicfile.Info, err error) {
	return s.readAt(d, fileName(k), k)
}

// readAt reads a document under some name below d.
func (s *Store) readAt(d *atomicfile.Dir, name string, k store.Key) ([]byte, atomicfile.Info, error) {
	data, info, err := d.Read(name, k.Kind.Spec().ReadLimit)
	if err != nil {
		return nil, info, s.fail("read", k, err)
	}
	if !s.trusted(info.UID) {
		return nil, info, &store.UnfitError{Key: k, Where: s.where(k), Why: "belongs to another user"}
	}
	return data, info, nil
}

// Get reads one document.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	if err := check(ctx, "get", k); err != nil {
		return store.Doc{}, err
	}
	data, info, err := s.readAt(s.root, pathOf(k), k)
	if err != nil {
		return store.Doc{}, err
	}
	if s.halfMoved(k, info) {
		return store.Doc{}, s.fail("get", k, store.ErrNotFound)
	}
	return store.Doc{Key: k, Rev: revOf(data), Data: data, Stored: storedAt(info)}, nil
}

// revAt is the revision of what lies at a key, zero when it cannot be read.
func (s *Store) revAt(k store.Key) store.Rev {
	data, _, err := s.readAt(s.root, pathOf(k), k)
	if err != nil {
		return ""
	}
	return revOf(data)
}

// List yields the documents of one owner. It looks at each name once; what went away meanwhile is left out.
func (s *Store) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := checkOwner(ctx, kind, owner); err != nil {
			yield(store.Entry{}, err)
			return
		}
		s.list(ctx, kind, owner)(yield)
	}
}

// Logs is of [store.Logger].
func (s *Store) Logs(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := store.CheckLogs(kind)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield("", s.fail("list logs", store.Key{Kind: kind}, err))
			return
		}
		s.list(ctx, kind, "")(func(e store.Entry, err error) bool { return yield(e.Key.Name, err) })
	}
}

// list is of the documents or logs of a kind and owner that were checked.
func (s *Store) list(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		d, err := s.folder(kind, owner)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		defer d.Close()
		names, err := d.Names()
		if err != nil {
			yield(store.Entry{}, s.fail("list", store.Key{Kind: kind, Owner: owner}, err))
			return
		}
		s.noteTemps(folderPath(kind, owner), names)
		for _, name := range names {
			k, ok := keyNamed(kind, owner, name)
			if !ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(store.Entry{}, err)
				return
			}
			if nested(kind) {
				name = fileName(k)
			}
			e, err := s.entry(d, k, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// entry looks at one name of a listing, that of the file of the key. For nested kinds a folder without the document is fs.ErrNotExist.
func (s *Store) entry(d *atomicfile.Dir, k store.Key, file string) (store.Entry, error) {
	e := store.Entry{Key: k}
	if err := k.Check(); err != nil {
		return e, &store.UnfitError{Key: k, Where: s.where(k), Why: err.Error()}
	}
	info, err := d.Stat(file)
	if _, stray := errors.AsType[*atomicfile.UnfitError](err); stray && nested(k.Kind) && !s.isLink(d, k.Name) {
		return e, fs.ErrNotExist // a plain file among the folders
	}
	if errors.Is(err, fs.ErrNotExist) {
		return e, fs.ErrNotExist
	}
	if err != nil {
		return e, s.fail("list", k, err)
	}
	limit := k.Kind.Spec().ReadLimit
	if k.Kind.Spec().IsLog() { // then it is that of a line
		limit = math.MaxInt64
	}
	if why := s.unfit(info, limit); why != "" {
		return e, &store.UnfitError{Key: k, Where: s.where(k), Why: why}
	}
	if s.halfMoved(k, info) {
		return e, fs.ErrNotExist
	}
	e.Size, e.Stored = info.Size, storedAt(info)
	return e, nil
}

// isLink tells whether a name is something else than a plain file or a folder.
func (s *Store) isLink(d *atomicfile.Dir, name string) bool {
	i, err := d.Stat(name)
	return err == nil && !i.Regular() && !i.Folder()
}

// checkOwner is the door of List.
func checkOwner(ctx context.Context, kind store.Kind, owner string) error {
	k := store.Key{Kind: kind, Owner: owner}
	if kind > 0 && int(kind) <= len(store.Kinds()) && kind.Spec().HasName() {
		k.Name = "any"
	}
	return check(ctx, "list", k)
}

// Owners yields the owners of a kind: the folders beside each other in the folder of the kind. A link among them is unfit;
// plain files there are not mailboxes and are left out.
func (s *Store) Owners(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkOwner(ctx, kind, "any"); err != nil {
			yield("", err)
			return
		}
		of := store.Key{Kind: kind}
		d, err := s.root.Sub(ownersPath(kind))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield("", s.fail("list owners of", of, err))
			return
		}
		defer d.Close()
		names, err := d.Names()
		if err != nil {
			yield("", s.fail("list owners of", of, err))
			return
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			ok, err := s.ownerNamed(d, store.Key{Kind: kind, Owner: name})
			if (ok || err != nil) && !yield(name, err) {
				return
			}
		}
	}
}

// ownersPath is the folder that holds the folders of the owners of a kind.
func ownersPath(kind store.Kind) string {
	dir, _, _ := strings.Cut(layoutOf(kind).dir, "/{owner}")
	return dir
}

// ownerNamed tells whether a name beside the folders of the owners is one, and when it is a trap, why it is unfit.
func (s *Store) ownerNamed(d *atomicfile.Dir, k store.Key) (bool, error) {
	info, err := d.Stat(k.Owner)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, s.fail("list owners of", k, err)
	}
	at := filepath.Join(d.Path(), k.Owner)
	if info.Regular() {
		if strings.Contains(k.Owner, "__") { // it is in the way of the folder of an agent
			return false, &store.UnfitError{Key: k, Where: at, Why: "is a file, not a folder"}
		}
		return false, nil
	}
	if !info.Folder() {
		return false, &store.UnfitError{Key: k, Where: at, Why: "is neither a folder nor a plain file"}
	}
	whole := k
	whole.Name = "any"
	if err := whole.Check(); err != nil {
		return false, &store.UnfitError{Key: k, Where: at, Why: err.Error()}
	}
	return true, nil
}
