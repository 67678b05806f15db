package filestore

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// A layout is the path of a kind cut at its name: the folder that List looks into, and how names and files map.
type layout struct {
	dir    string // below the root, may hold {owner}; "" is the root
	suffix string // what follows the name: ".json", "" or, for documents in a folder of their own, "/state.json"
	single string // the file of a kind that has no name
}

func layoutOf(kind store.Kind) layout {
	p := kind.Spec().Path
	if before, after, ok := strings.Cut(p, "{name}"); ok {
		return layout{dir: strings.TrimSuffix(before, "/"), suffix: after}
	}
	dir, file := path.Split(p)
	return layout{dir: strings.TrimSuffix(dir, "/"), single: file}
}

// folderPath is the folder that List looks into, below the root.
func folderPath(kind store.Kind, owner string) string {
	return strings.Replace(layoutOf(kind).dir, "{owner}", owner, 1)
}

// nested reports whether each document of the kind is in a folder of its own. The times of the folder that List looks into then
// say nothing about the documents.
func nested(kind store.Kind) bool { return strings.IndexByte(layoutOf(kind).suffix, '/') >= 0 }

// folder opens the folder that holds the documents of one owner. A missing one is store.ErrNotFound, a link or a file in its
// place a *store.UnfitError. The caller closes it.
func (s *Store) folder(kind store.Kind, owner string) (*atomicfile.Dir, error) {
	d, err := s.root.Sub(folderPath(kind, owner))
	if err != nil {
		return nil, s.fail("open folder of", store.Key{Kind: kind, Owner: owner}, err)
	}
	return d, nil
}

// fileName is the path of a document or log below the folder of its kind and owner. It holds a slash for nested kinds.
func fileName(k store.Key) string {
	l := layoutOf(k.Kind)
	if l.single != "" {
		return l.single
	}
	return k.Name + l.suffix
}

// keyOf is the other direction, for a name from the listing of that folder: false for names that are not documents, such as
// temporary and lock files.
func (s *Store) keyOf(kind store.Kind, owner, filename string) (store.Key, bool) {
	k, ok := keyNamed(kind, owner, filename)
	return k, ok && k.Check() == nil
}

// keyNamed is keyOf without the check of the key, so that List can name keys that cannot be requested.
func keyNamed(kind store.Kind, owner, filename string) (store.Key, bool) {
	l := layoutOf(kind)
	if l.single != "" {
		return store.Key{Kind: kind, Owner: owner}, filename == l.single
	}
	name, ok := filename, !atomicfile.IsTemp(filename)
	if l.suffix != "" && !nested(kind) {
		name, ok = strings.CutSuffix(filename, l.suffix)
	}
	return store.Key{Kind: kind, Owner: owner, Name: name}, ok
}

// pathOf is k.Path(), put together from parts that are cut once: several are needed for each message.
func pathOf(k store.Key) string {
	if dir := folderPath(k.Kind, k.Owner); dir != "" {
		return dir + "/" + fileName(k)
	}
	return fileName(k)
}

// home cuts the path of a key into the folder that holds the file, below the root, and the file's name there.
func home(k store.Key) (rel, base string) {
	dir, base := path.Split(pathOf(k))
	return strings.TrimSuffix(dir, "/"), base
}

// makeHome opens a folder below the root and makes it when it is missing.
func (s *Store) makeHome(rel string) (*atomicfile.Dir, error) {
	return s.root.MakeSub(rel, dirPerm)
}

// where is the path of a key, for people.
func (s *Store) where(k store.Key) string {
	return filepath.Join(s.path, filepath.FromSlash(pathOf(k)))
}

// storedAt is when a file arrived: its last write, but no later than the last change that the system itself has noted,
// because a program can set the first to any time.
func storedAt(i atomicfile.Info) time.Time { return time.Unix(0, min(i.Mtime, i.Ctime)) }

var euid = sync.OnceValue(os.Geteuid)

// trusted tells whether files of a user may be read: ours, root's and those of the owner of the root.
func (s *Store) trusted(uid uint32) bool {
	if uid == 0 || int(uid) == euid() {
		return true
	}
	root, err := s.self()
	return err == nil && uid == root.UID
}

// unfit returns why something that a listing or an open found is not a document, "" when it is one.
func (s *Store) unfit(i atomicfile.Info, limit int64) string {
	switch {
	case i.Folder():
		return "is a folder"
	case !i.Regular():
		return "is not a plain file"
	case i.Size > limit:
		return fmt.Sprintf("has %d bytes, at most %d are read", i.Size, limit)
	case !s.trusted(i.UID):
		return "belongs to another user"
	}
	return ""
}
