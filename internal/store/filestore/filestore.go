// Package filestore keeps a store in a folder that other programs read and write at the same time.
//
// What lies where, how large it may be and which lock guards it is the key space of package store; this package turns a row
// of it into system calls. Each promise and what it rests on:
//
//   - A document is seen whole or not at all: it is written under a temporary name and gets its own by a link (Create), a
//     rename (Replace of locked kinds) or an exchange (Replace of owned kinds).
//   - One winner: a link onto a taken name fails, a rename away from a name works once.
//   - Survives a power cut, for durable kinds: file, then folder, then every folder that had to be made are synced before nil
//     is returned. A Create that finds its own bytes there already syncs them again before it says so.
//   - Compare-and-set: under the lock that foreign programs keep, and a kernel lock before it among our own processes.
//   - A question for the oldest documents of a folder reads about as many as it asks for, however many there are.
//   - A log position names the file, an offset and what lies before it, so a log that was cut or replaced is noticed.
//
// Opening for reading writes nothing and makes nothing. Modes of what exists are never changed; what we make is 0700 and 0600.
//
// Names come from messages and the folder is shared, so no step below the root follows a link, no open blocks, and what was
// opened must be a plain file of ours, of root or of the owner of the root, within the limit of its kind. Anything else is
// reported as *store.UnfitError and left alone; the rest of a listing goes on.
//
// A message that is in the inbox although the archive has it was taken and then put there again by a program that does not know
// the archive, because our own Move is one rename. Create and Move notice it; Get and List show the message.
//
// Temporary files that a crash has left are removed after an hour, see [Store.sweep]. What the bytes mean, who may write
// them, and when something is removed are questions of the callers.
package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/fswatch"
	"tutti/internal/store"
)

// Rights of what we make: the owner's alone. What exists keeps the rights it has.
const (
	dirPerm  fs.FileMode = 0o700
	filePerm fs.FileMode = 0o600
)

// Options say how a store is opened. The zero value opens an existing one for reading and writing.
type Options struct {
	// Create makes the root and what belongs into it when it is not a store yet.
	Create bool
	// ReadOnly refuses every write with store.ErrReadOnly.
	ReadOnly bool
	// AllowVersionMismatch opens a store of another schema version all the same; its sentinel is left as it is.
	AllowVersionMismatch bool
	// CacheDir holds derived indexes, "" keeps none. It may be deleted at any time.
	CacheDir string
	// Watcher is the kernel watcher that Watch uses; nil is the one of the process, which is started when it is needed.
	Watcher *fswatch.Watcher
	// CreatedBy stands in the sentinel of a store that is made, as "program@version".
	CreatedBy string
	// Now is the clock of leases and of the hour after which temporary files are swept; nil is time.Now.
	Now func() time.Time
}

// A Store is a folder opened as a store. It is safe for concurrent use.
type Store struct {
	root     *atomicfile.Dir
	path     string // as given, for messages and watchers
	cacheDir string
	readOnly bool
	watcher  *fswatch.Watcher
	polled   atomic.Bool
	now      func() time.Time

	// smallLog is up to which size Find reads a log from its start; tests set another one.
	smallLog int64
	// crowd and throng are the constants of those names; tests set others.
	crowd, throng int
	// isLocal tells whether the file system is known to be on this machine; asked at most once, because only views need it.
	isLocal func() bool
	// self is the root itself: whose it is, and on which file system, as others may be mounted below it. Asked at most once, because only
	// batches and files of others need it.
	self func() (atomicfile.Info, error)

	mu      sync.Mutex           // guards creates; never held while calling out
	creates map[string]sweepMark // by folder below the root
}

// NotStoreError reports a folder that is not a store: it has neither a sentinel nor a registry.
type NotStoreError struct{ Path string }

func (e *NotStoreError) Error() string { return e.Path + " is not an h2a store" }

// Is lets errors.Is find fs.ErrNotExist: what was asked for is not there.
func (e *NotStoreError) Is(target error) bool { return target == fs.ErrNotExist }

// SchemaError reports a store of another schema version. Found is "unparseable" for a sentinel that is not a JSON object and
// "missing" for one without a version.
type SchemaError struct{ Path, Found, Want string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s has schema version %s, this program knows %s", e.Path, e.Found, e.Want)
}

// Hint says what to type.
func (e *SchemaError) Hint() string {
	return "use the release that made this bus, or name another bus: --root DIR"
}

// Open opens the folder at path, which the user named: links in it are followed. It costs one open of the folder and one open,
// read and close of the sentinel; everything else is looked at when it is needed. A folder that is not a store is a
// *NotStoreError, one of another version a *SchemaError.
func Open(path string, o Options) (*Store, error) {
	root, err := atomicfile.OpenDir(path)
	if errors.Is(err, fs.ErrNotExist) && o.Create && !o.ReadOnly {
		if root, err = makeRoot(path); err != nil {
			return nil, fmt.Errorf("make store: %w", err) // also when no folder can be made there: not a store that is missing
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotStoreError{path}
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{root: root, path: path, cacheDir: o.CacheDir, readOnly: o.ReadOnly, watcher: o.Watcher, now: o.Now, creates: map[string]sweepMark{}, smallLog: smallLog, crowd: crowd, throng: throng}
	if s.now == nil {
		s.now = time.Now
	}
	s.isLocal = sync.OnceValue(func() bool { return localFS(root.FD()) })
	s.self = sync.OnceValues(root.Self)
	if err := s.checkSchema(o); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// Close gives the handle of the root back. Operations that are under way end first.
func (s *Store) Close() error { return s.root.Close() }

// Path returns the folder as it was named in Open.
func (s *Store) Path() string { return s.path }

var (
	_ store.Docs    = (*Store)(nil)
	_ store.Log     = (*Store)(nil)
	_ store.Leases  = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Batcher = (*Store)(nil)
)
